// Adapter of @noble/post-quantum, with requests and answers as JSON lines.
import { createInterface } from 'node:readline';
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import { shake128_32, shake256_64 } from '@noble/hashes/sha3.js';
import { falcon1024, falcon1024padded, falcon512, falcon512padded } from '@noble/post-quantum/falcon.js';
import { ml_kem1024, ml_kem512, ml_kem768 } from '@noble/post-quantum/ml-kem.js';
import { ml_dsa44, ml_dsa65, ml_dsa87 } from '@noble/post-quantum/ml-dsa.js';
import {
  slh_dsa_sha2_128s,
  slh_dsa_sha2_128f,
  slh_dsa_sha2_192s,
  slh_dsa_sha2_192f,
  slh_dsa_sha2_256s,
  slh_dsa_sha2_256f,
  slh_dsa_shake_128s,
  slh_dsa_shake_128f,
  slh_dsa_shake_192s,
  slh_dsa_shake_192f,
  slh_dsa_shake_256s,
  slh_dsa_shake_256f,
} from '@noble/post-quantum/slh-dsa.js';

const SCHEMES = {
  'ML-DSA-44': ml_dsa44,
  'ML-DSA-65': ml_dsa65,
  'ML-DSA-87': ml_dsa87,
  'Falcon-512': falcon512,
  'Falcon-padded-512': falcon512padded,
  'Falcon-1024': falcon1024,
  'Falcon-padded-1024': falcon1024padded,
  'SLH-DSA-SHA2-128s': slh_dsa_sha2_128s,
  'SLH-DSA-SHA2-128f': slh_dsa_sha2_128f,
  'SLH-DSA-SHA2-192s': slh_dsa_sha2_192s,
  'SLH-DSA-SHA2-192f': slh_dsa_sha2_192f,
  'SLH-DSA-SHA2-256s': slh_dsa_sha2_256s,
  'SLH-DSA-SHA2-256f': slh_dsa_sha2_256f,
  'SLH-DSA-SHAKE-128s': slh_dsa_shake_128s,
  'SLH-DSA-SHAKE-128f': slh_dsa_shake_128f,
  'SLH-DSA-SHAKE-192s': slh_dsa_shake_192s,
  'SLH-DSA-SHAKE-192f': slh_dsa_shake_192f,
  'SLH-DSA-SHAKE-256s': slh_dsa_shake_256s,
  'SLH-DSA-SHAKE-256f': slh_dsa_shake_256f,
  'HashSLH-DSA-SHA2-128s': slh_dsa_sha2_128s.prehash(sha256),
  'HashSLH-DSA-SHA2-192f': slh_dsa_sha2_192f.prehash(sha512),
  'HashSLH-DSA-SHAKE-128f': slh_dsa_shake_128f.prehash(shake128_32),
  'HashSLH-DSA-SHAKE-256f': slh_dsa_shake_256f.prehash(shake256_64),
};

const KEMS = { 'ML-KEM-512': ml_kem512, 'ML-KEM-768': ml_kem768, 'ML-KEM-1024': ml_kem1024 };

const bytes = (text) => Uint8Array.from(Buffer.from(text, 'hex'));

function verify(algorithm, key, message, context, signature) {
  const scheme = SCHEMES[algorithm];
  const falcon = algorithm.startsWith('Falcon');
  if (!scheme || (falcon && context.length)) return ['unsupported'];
  const options = falcon ? {} : { context };
  return [scheme.verify(signature, message, key, options) ? 'accept' : 'reject'];
}

function encapsulate(algorithm, key) {
  const kem = KEMS[algorithm];
  if (!kem) return ['unsupported'];
  kem.encapsulate(key);
  return ['accept'];
}

function decapsulate(algorithm, key, ciphertext) {
  const kem = KEMS[algorithm];
  return kem ? ['accept', kem.decapsulate(ciphertext, key)] : ['unsupported'];
}

// Operations, with the names of their byte strings.
const OPERATIONS = {
  verify: [verify, 'public_key', 'message', 'context', 'signature'],
  encapsulate: [encapsulate, 'encapsulation_key'],
  decapsulate: [decapsulate, 'decapsulation_key', 'ciphertext'],
};

function answer(operation, ...values) {
  try {
    return operation(...values);
  } catch (error) {
    return [/stack|memory/i.test(error.message) ? 'panic' : 'refuse'];
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const [operation, ...names] = OPERATIONS[request.operation];
  const values = names.map((name) => bytes(request[name]));
  const nanoseconds = [];
  let verdict, secret;
  for (let i = 0; i < Math.max(1, request.repeat); i++) {
    const start = process.hrtime.bigint();
    [verdict, secret] = answer(operation, request.algorithm, ...values);
    nanoseconds.push(Number(process.hrtime.bigint() - start));
  }
  const shared_secret = secret && Buffer.from(secret).toString('hex');
  process.stdout.write(`${JSON.stringify({ id: request.id, verdict, nanoseconds, shared_secret })}\n`);
}
