/** Headers that somebody sends with each request. */
export type Visitor = Readonly<Record<string, string>>;

/** One kind of request, by many visitors and to many addresses. */
export interface Kind {
  readonly name: string;
  /** How often it comes among others. */
  readonly weight: number;
  readonly visitors: readonly Visitor[];
  /**
   * One is taken for each request, and filled in where it says `{n}`, a number that comes once only, `{1-20}`, any of
   * these numbers, or `{word}`.
   */
  readonly paths: readonly string[];
  /** The first path is asked for twice as often as the second, three times as often as the third, and so on. */
  readonly zipf?: boolean;
  /** With bodies, filled in alike, POST is sent. */
  readonly bodies?: readonly string[];
}

export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly visitor: Visitor;
  readonly body: string | undefined;
}

const HOLE = /\{(?:n|word|(\d+)-(\d+))\}/g;

export const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;

/** Makes requests of some kinds at random, in the proportion of their weights. */
export class Requests {
  readonly #kinds: readonly { readonly kind: Kind; readonly upTo: number; readonly shares: Float64Array | undefined }[];
  readonly #whole: number;
  readonly #words: readonly string[];
  #number = 0;

  constructor(kinds: readonly Kind[], words: readonly string[]) {
    let upTo = 0;
    this.#kinds = kinds.map((kind) => ({
      kind,
      upTo: (upTo += kind.weight),
      shares: kind.zipf ? zipfShares(kind.paths.length) : undefined,
    }));
    this.#whole = upTo;
    this.#words = words;
  }

  next(): Request {
    const chance = Math.random() * this.#whole;
    const { kind, shares } = this.#kinds.find(({ upTo }) => chance < upTo) ?? this.#kinds.at(-1)!;
    const { bodies, paths, visitors } = kind;
    return {
      method: bodies ? 'POST' : 'GET',
      path: this.#fill(shares ? paths[zipfPick(shares)]! : pick(paths)),
      visitor: pick(visitors),
      body: bodies && this.#fill(pick(bodies)),
    };
  }

  #fill(text: string): string {
    if (!text.includes('{')) return text;
    return text.replaceAll(HOLE, (hole, from?: string, to?: string) => {
      if (hole === '{n}') return String(this.#number++);
      if (hole === '{word}') return pick(this.#words);
      return String(Number(from) + Math.floor(Math.random() * (Number(to) - Number(from) + 1)));
    });
  }
}

/** Sums of 1, 1/2, 1/3 … */
function zipfShares(count: number): Float64Array {
  const shares = new Float64Array(count);
  let sum = 0;
  for (let at = 0; at < count; at++) shares[at] = sum += 1 / (at + 1);
  return shares;
}

function zipfPick(shares: Float64Array): number {
  const chance = Math.random() * shares.at(-1)!;
  let [low, high] = [0, shares.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (shares[middle]! > chance) high = middle;
    else low = middle + 1;
  }
  return low;
}
