//! Certificates as lists of signatures: a signature scheme of pqchain in commonware's certificate
//! interface, attributable and without batch verification, like commonware's secp256r1.

use crate::{
    native::{Native, Secret},
    processor::Processor,
};
use bytes::BufMut;
use commonware_codec::{
    Buf, EncodeSize, Error, FixedSize, Read, ReadExt, ReadRangeExt, Write, types::lazy::Lazy,
};
use commonware_consensus::simplex::{scheme::Namespace, types::Subject};
use commonware_cryptography::{
    Digest,
    certificate::{
        self, AssemblyError, Attestation, Membership, Namespace as _, Signers, Subject as _,
        Verification,
    },
    ed25519,
};
use commonware_parallel::Strategy;
use commonware_utils::{
    N3f1, Participant,
    iter::NonEmpty,
    ordered::{Quorum, Set},
};
use rand_core::CryptoRng;
use std::{fmt, sync::Arc};

/// A signature of N bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature<const N: usize>(Box<[u8; N]>);

impl<const N: usize> Write for Signature<N> {
    fn write(&self, writer: &mut impl BufMut) {
        writer.put_slice(&self.0[..]);
    }
}

impl<const N: usize> Read for Signature<N> {
    type Cfg = ();

    fn read_cfg(reader: &mut impl Buf, _: &()) -> Result<Self, Error> {
        Ok(Self(Box::new(<[u8; N]>::read(reader)?)))
    }
}

impl<const N: usize> FixedSize for Signature<N> {
    const SIZE: usize = N;
}

/// The signers, and their signatures in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Certificate<const N: usize> {
    signers: Signers,
    signatures: Vec<Lazy<Signature<N>>>,
}

impl<const N: usize> Write for Certificate<N> {
    fn write(&self, writer: &mut impl BufMut) {
        self.signers.write(writer);
        self.signatures.write(writer);
    }
}

impl<const N: usize> EncodeSize for Certificate<N> {
    fn encode_size(&self) -> usize {
        self.signers.encode_size() + self.signatures.encode_size()
    }
}

impl<const N: usize> Read for Certificate<N> {
    type Cfg = usize;

    fn read_cfg(reader: &mut impl Buf, participants: &usize) -> Result<Self, Error> {
        let signers = Signers::read_cfg(reader, participants)?;
        let signatures = Vec::<Lazy<Signature<N>>>::read_range(reader, ..=*participants)?;
        if signers.count() == 0 || signers.count() != signatures.len() {
            return Err(Error::Invalid("pqchain::Certificate", "signers and signatures differ"));
        }
        Ok(Self { signers, signatures })
    }
}

/// The scheme at one validator: all public keys, its secret key, and its processor.
#[derive(Clone)]
pub struct ListScheme<const N: usize> {
    native: Arc<Native>,
    participants: Set<ed25519::PublicKey>,
    keys: Arc<Vec<Vec<u8>>>,
    secret: Arc<Secret>,
    index: Participant,
    namespace: Arc<Namespace>,
    processor: Processor,
}

impl<const N: usize> fmt::Debug for ListScheme<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListScheme<{N}> of {:?}", self.index)
    }
}

impl<const N: usize> ListScheme<N> {
    pub fn new(
        native: Arc<Native>,
        participants: Set<ed25519::PublicKey>,
        keys: Arc<Vec<Vec<u8>>>,
        secret: Arc<Secret>,
        index: usize,
        processor: Processor,
    ) -> Self {
        let index = Participant::from_usize(index);
        let namespace = Arc::new(Namespace::derive(b"pqchain"));
        Self { native, participants, keys, secret, index, namespace, processor }
    }

    fn message<D: Digest>(&self, subject: &Subject<'_, D>) -> Vec<u8> {
        [subject.namespace(&self.namespace), &subject.message()].concat()
    }

    fn valid(&self, message: &[u8], signer: Participant, signature: Option<&Signature<N>>) -> bool {
        let (Some(key), Some(signature)) = (self.keys.get(usize::from(signer)), signature) else {
            return false;
        };
        self.processor.verify(1);
        self.native.verify(message, &signature.0[..], key)
    }
}

impl<const N: usize> certificate::Verifier for ListScheme<N> {
    type Subject<'a, D: Digest> = Subject<'a, D>;
    type Faults = N3f1;
    type PublicKey = ed25519::PublicKey;
    type Certificate = Certificate<N>;

    fn verify_certificate<R: CryptoRng, D: Digest>(
        &self,
        _: &mut R,
        subject: Self::Subject<'_, D>,
        certificate: &Self::Certificate,
        _: &impl Strategy,
    ) -> bool {
        let Certificate { signers, signatures } = certificate;
        if signers.len() != self.participants.len()
            || signers.count() != signatures.len()
            || signers.count() < self.participants.quorum::<N3f1>() as usize
        {
            return false;
        }
        let message = self.message(&subject);
        let mut pairs = signers.iter().zip(signatures);
        pairs.all(|(signer, signature)| self.valid(&message, signer, signature.get()))
    }

    fn is_batchable() -> bool {
        false
    }

    fn max_certificate_size(participants: u32) -> usize {
        // Two lengths and a bitmap, then one signature of every participant.
        16 + (participants as usize).div_ceil(8) + participants as usize * N
    }

    fn certificate_codec_config(&self) -> usize {
        self.participants.len()
    }

    fn certificate_codec_config_unbounded() -> usize {
        u32::MAX as usize
    }
}

impl<const N: usize> certificate::Scheme for ListScheme<N> {
    type Signature = Signature<N>;

    fn me(&self) -> Option<Membership> {
        Some(Membership::Signer(self.index))
    }

    fn participants(&self) -> &Set<Self::PublicKey> {
        &self.participants
    }

    fn sign<D: Digest>(&self, subject: Self::Subject<'_, D>) -> Option<Attestation<Self>> {
        self.processor.sign();
        let signature = self.native.sign(&self.message(&subject), &self.secret)?;
        let signature = Signature(signature.try_into().ok()?);
        Some(Attestation { signer: self.index, signature: signature.into() })
    }

    fn verify_attestation<R: CryptoRng, D: Digest>(
        &self,
        _: &mut R,
        subject: Self::Subject<'_, D>,
        attestation: &Attestation<Self>,
        _: &impl Strategy,
    ) -> bool {
        self.valid(&self.message(&subject), attestation.signer, attestation.signature.get())
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
        // Lists gain nothing from a check of the assembled certificate first.
        certificate::verify_then_assemble::<Self, _, D, _, _>(
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
        let mut entries: Vec<_> = attestations.into_iter().collect();
        entries.sort_by_key(|entry| entry.signer);
        let signers = entries.iter().map(|entry| entry.signer).collect::<Vec<_>>();
        let signers = Signers::try_from((&self.participants, signers))?;
        let (quorum, count) = (self.participants.quorum::<N3f1>(), entries.len() as u32);
        if count < quorum {
            return Err(AssemblyError::InsufficientAttestations(quorum, count));
        }
        let mut signatures = Vec::with_capacity(entries.len());
        for entry in entries {
            let signature = entry.signature.get().cloned();
            let signature = signature.ok_or(AssemblyError::MalformedSignature(entry.signer))?;
            signatures.push(Lazy::from(signature));
        }
        Ok(Certificate { signers, signatures })
    }

    fn is_attributable() -> bool {
        true
    }
}
