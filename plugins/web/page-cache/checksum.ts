import { crc32 } from 'node:zlib';

/** A piece of bytes that is always the same, or the length and name of one that is not. */
export type Piece<Name extends string> = Buffer | { readonly what: Name; readonly length: number };

interface Step<Name extends string> {
  /** The checksum of the piece alone, or what to take it of. */
  readonly own: number | Name;
  /** What each bit of the checksum before becomes behind the piece. */
  readonly bits: Uint32Array;
}

/**
 * The CRC-32 of pieces in a row of which only the short ones change: what the long ones add is computed once, as zlib's
 * crc32_combine does.
 */
export class Checksum<Name extends string> {
  readonly #steps: readonly Step<Name>[];

  constructor(pieces: readonly Piece<Name>[]) {
    this.#steps = pieces.map((piece) => ({
      own: Buffer.isBuffer(piece) ? crc32(piece) : piece.what,
      bits: bitsBehind(piece.length),
    }));
  }

  of(values: Readonly<Record<Name, string>>): number {
    let sum = 0;
    for (const { own, bits } of this.#steps) {
      let moved = typeof own === 'number' ? own : crc32(values[own]);
      for (let bit = 0, rest = sum; rest !== 0; bit++, rest >>>= 1) if (rest & 1) moved ^= bits[bit]!;
      sum = moved >>> 0;
    }
    return sum;
  }
}

/** Checksums are linear: going over `length` zeros moves each bit by itself. */
function bitsBehind(length: number): Uint32Array {
  const zeros = Buffer.alloc(length);
  const none = crc32(zeros, 0);
  return Uint32Array.from({ length: 32 }, (_, bit) => crc32(zeros, (1 << bit) >>> 0) ^ none);
}
