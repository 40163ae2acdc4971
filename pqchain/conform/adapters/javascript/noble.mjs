// Adapter of @noble/post-quantum, with requests and answers as JSON lines.
import { createInterface } from 'node:readline';
import { falcon1024, falcon1024padded, falcon512, falcon512padded } from '@noble/post-quantum/falcon.js';
import { ml_dsa44, ml_dsa65, ml_dsa87 } from '@noble/post-quantum/ml-dsa.js';

const SCHEMES = {
  'ML-DSA-44': ml_dsa44,
  'ML-DSA-65': ml_dsa65,
  'ML-DSA-87': ml_dsa87,
  'Falcon-512': falcon512,
  'Falcon-padded-512': falcon512padded,
  'Falcon-1024': falcon1024,
  'Falcon-padded-1024': falcon1024padded,
};

const bytes = (text) => Uint8Array.from(Buffer.from(text, 'hex'));

function verify(algorithm, key, message, context, signature) {
  const scheme = SCHEMES[algorithm];
  const falcon = algorithm.startsWith('Falcon');
  if (!scheme || (falcon && context.length)) return 'unsupported';
  try {
    const options = falcon ? {} : { context };
    return scheme.verify(signature, message, key, options) ? 'accept' : 'reject';
  } catch (error) {
    return /stack|memory/i.test(error.message) ? 'panic' : 'refuse';
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const given = ['public_key', 'message', 'context', 'signature'].map((name) => bytes(request[name]));
  const nanoseconds = [];
  let verdict;
  for (let i = 0; i < Math.max(1, request.repeat); i++) {
    const start = process.hrtime.bigint();
    verdict = verify(request.algorithm, ...given);
    nanoseconds.push(Number(process.hrtime.bigint() - start));
  }
  process.stdout.write(`${JSON.stringify({ id: request.id, verdict, nanoseconds })}\n`);
}
