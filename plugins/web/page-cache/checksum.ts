import { crc32 } from 'node:zlib';

/** Bytes that are the same in every response, or the name and length of a value that differs. */
export type Segment<Name extends string> = Buffer | { readonly name: Name; readonly length: number };

interface Step<Name extends string> {
  /** CRC-32 of a constant segment, or the name of the value to compute it from. */
  readonly checksum: number | Name;
  /** What each bit of the running checksum becomes after the segment. */
  readonly shift: Uint32Array;
}

/**
 * The CRC-32 of consecutive segments of which only the short ones change: the long ones are computed once, as zlib's
 * crc32_combine does.
 */
export class Crc32<Name extends string> {
  readonly #steps: readonly Step<Name>[];

  constructor(segments: readonly Segment<Name>[]) {
    this.#steps = segments.map((segment) => ({
      checksum: Buffer.isBuffer(segment) ? crc32(segment) : segment.name,
      shift: shiftTable(segment.length),
    }));
  }

  compute(values: Readonly<Record<Name, string>>): number {
    let sum = 0;
    for (const { checksum: own, shift: bits } of this.#steps) {
      let moved = typeof own === 'number' ? own : crc32(values[own]);
      for (let bit = 0, rest = sum; rest !== 0; bit++, rest >>>= 1) if (rest & 1) moved ^= bits[bit]!;
      sum = moved >>> 0;
    }
    return sum;
  }
}

/** Checksums are linear: going over `length` zeros moves each bit by itself. */
function shiftTable(length: number): Uint32Array {
  const zeros = Buffer.alloc(length);
  const none = crc32(zeros, 0);
  return Uint32Array.from({ length: 32 }, (_, bit) => crc32(zeros, (1 << bit) >>> 0) ^ none);
}
