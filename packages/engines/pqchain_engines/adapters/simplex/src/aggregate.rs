//! commonware's BLS12-381 multi-signatures (public keys in G1), with charges for the processor.

use crate::processor::Processor;
use commonware_consensus::simplex::{scheme::Namespace, types::Subject};
use commonware_cryptography::{
    Digest,
    bls12381::{
        certificate::multisig::{Certificate, Generic},
        primitives::variant::MinPk,
    },
    certificate::{self, AssemblyError, Attestation, Membership, Verification},
    ed25519,
};
use commonware_parallel::Strategy;
use commonware_utils::{N3f1, iter::NonEmpty, ordered::Set};
use rand_core::CryptoRng;

type Multisig = Generic<ed25519::PublicKey, MinPk, Namespace>;

#[derive(Clone, Debug)]
pub struct AggregateScheme {
    pub multisig: Multisig,
    pub processor: Charged,
}

/// A processor that need not print itself.
#[derive(Clone)]
pub struct Charged(pub Processor);

impl std::fmt::Debug for Charged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Charged")
    }
}

impl certificate::Verifier for AggregateScheme {
    type Subject<'a, D: Digest> = Subject<'a, D>;
    type Faults = N3f1;
    type PublicKey = ed25519::PublicKey;
    type Certificate = Certificate<MinPk>;

    fn verify_certificate<R: CryptoRng, D: Digest>(
        &self,
        rng: &mut R,
        subject: Self::Subject<'_, D>,
        certificate: &Self::Certificate,
        _: &impl Strategy,
    ) -> bool {
        self.processor.0.verify_aggregate(certificate.signers.count() as u32);
        self.multisig.verify_certificate::<Self, _>(rng, subject, certificate)
    }

    fn is_batchable() -> bool {
        Multisig::is_batchable()
    }

    fn max_certificate_size(participants: u32) -> usize {
        Multisig::max_certificate_size(participants)
    }

    fn certificate_codec_config(&self) -> usize {
        self.multisig.certificate_codec_config()
    }

    fn certificate_codec_config_unbounded() -> usize {
        Multisig::certificate_codec_config_unbounded()
    }
}

impl certificate::Scheme for AggregateScheme {
    type Signature = <MinPk as commonware_cryptography::bls12381::primitives::variant::Variant>::Signature;

    fn me(&self) -> Option<Membership> {
        self.multisig.signer_index().map(Membership::Signer)
    }

    fn participants(&self) -> &Set<Self::PublicKey> {
        self.multisig.participants()
    }

    fn sign<D: Digest>(&self, subject: Self::Subject<'_, D>) -> Option<Attestation<Self>> {
        self.processor.0.sign();
        self.multisig.sign(subject)
    }

    fn verify_attestation<R: CryptoRng, D: Digest>(
        &self,
        _: &mut R,
        subject: Self::Subject<'_, D>,
        attestation: &Attestation<Self>,
        _: &impl Strategy,
    ) -> bool {
        self.processor.0.verify(1);
        self.multisig.verify_attestation(subject, attestation)
    }

    fn verify_attestations<R, D, I>(
        &self,
        rng: &mut R,
        subject: Self::Subject<'_, D>,
        attestations: I,
        strategy: &impl Strategy,
    ) -> Verification<Self>
    where
        R: CryptoRng,
        D: Digest,
        I: IntoIterator<Item = Attestation<Self>>,
        I::IntoIter: Send,
    {
        let batch: Vec<_> = attestations.into_iter().collect();
        self.processor.0.verify_aggregate(batch.len() as u32);
        self.multisig.verify_attestations(rng, subject, batch, strategy)
    }

    fn optimistic_assemble<'a, R, D, I, J>(
        &self,
        rng: &mut R,
        subject: Self::Subject<'_, D>,
        pending: I,
        verified: J,
        strategy: &impl Strategy,
    ) -> Result<Self::Certificate, Verification<Self>>
    where
        R: CryptoRng,
        D: Digest,
        I: IntoIterator<Item = Attestation<Self>>,
        I::IntoIter: ExactSizeIterator + Send,
        J: IntoIterator<Item = &'a Attestation<Self>>,
        J::IntoIter: Send,
    {
        certificate::optimistic_assemble::<Self, _, D, _, _>(
            self, rng, subject, pending, verified, strategy,
        )
    }

    fn assemble<I>(
        &self,
        attestations: NonEmpty<I>,
        _: &impl Strategy,
    ) -> Result<Self::Certificate, AssemblyError>
    where
        I: Iterator<Item = Attestation<Self>> + Send,
    {
        self.multisig.assemble::<Self, _>(attestations)
    }

    fn is_attributable() -> bool {
        Multisig::is_attributable()
    }
}
