import { endWithParent } from '../child.ts';
import { Connection } from './connection.ts';
import { Requests, type Kind, type Request } from './requests.ts';

/** What many visitors do at once, for some seconds. */
export interface Load {
  /** Of the processes; connections are spread over them. */
  readonly urls: readonly string[];
  readonly seconds: number;
  /** Each asks again as soon as it was answered. */
  readonly connections: number;
  readonly reads: readonly Kind[];
  /** Sent so often in a second, whatever answers take. */
  readonly writes?: readonly (Kind & { readonly perSecond: number })[];
  /** Requests whose answers do not end. */
  readonly streams?: readonly Kind[];
  /** For the addresses that have words. */
  readonly words: readonly string[];
}

export interface Measured {
  readonly perSecond: number;
  /** Answers to reads and writes. */
  readonly reads: number;
  readonly writes: number;
  /** Bytes of an answer to a read, the mean. */
  readonly bytes: number;
  /** Milliseconds of reads. */
  readonly p50: number;
  readonly p99: number;
  /** Answers, reads and writes, that said to come back later. */
  readonly refused: number;
  /** What was wrong with the first other answer that was not good. */
  readonly error: string | undefined;
}

/** Milliseconds between two looks at which writes are due. */
const TICK = 10;

/** A search answers so while there are too many. */
const REFUSED = 503;

/** Text of a request as it is sent. Bodies are ASCII. */
function textOf({ method, path, visitor, body }: Request): string {
  const headers = Object.entries(visitor).map(([name, value]) => `${name}: ${value}\r\n`);
  if (body !== undefined) headers.push(`content-type: application/json\r\ncontent-length: ${body.length}\r\n`);
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers.join('')}\r\n${body ?? ''}`;
}

class Run {
  readonly #load: Load;
  readonly #deadline: number;
  #turn = 0;
  readonly #times: number[] = [];
  #bytes = 0;
  #writes = 0;
  #refused = 0;
  #error: string | undefined;

  constructor(load: Load) {
    this.#load = load;
    this.#deadline = performance.now() + load.seconds * 1_000;
  }

  async measure(): Promise<Measured> {
    const { connections, reads, writes = [], streams = [], words } = this.#load;
    const begun = performance.now();
    const held = streams.flatMap((kind) => this.#hold(kind));
    const requests = new Requests(reads, words);
    const writing = writes.map((kind) => this.#write(new Requests([kind], words), kind.perSecond));
    await Promise.all(Array.from({ length: connections }, () => this.#read(requests)));
    // Up to the last answer: what was under way when the time was over counts, and so does what it took.
    const seconds = (performance.now() - begun) / 1_000;
    await Promise.all(writing);
    for (const stream of held) stream.close();
    const sorted = Float64Array.from(this.#times).sort();
    return {
      perSecond: this.#times.length / seconds,
      reads: this.#times.length,
      writes: this.#writes,
      bytes: this.#bytes / this.#times.length,
      p50: sorted[Math.floor(sorted.length * 0.5)] ?? NaN,
      p99: sorted[Math.floor(sorted.length * 0.99)] ?? NaN,
      refused: this.#refused,
      error: this.#error,
    };
  }

  #connect(): Connection {
    return new Connection(this.#load.urls[this.#turn++ % this.#load.urls.length]!);
  }

  async #read(requests: Requests): Promise<void> {
    const connection = this.#connect();
    while (performance.now() < this.#deadline && this.#error === undefined) {
      const begun = performance.now();
      const bytes = await this.#ask(connection, requests.next());
      this.#times.push(performance.now() - begun);
      this.#bytes += bytes;
    }
    connection.close();
  }

  /** On as many connections as are needed to be in time. */
  async #write(requests: Requests, perSecond: number): Promise<void> {
    const begun = performance.now();
    const free: Connection[] = [];
    const underWay = new Set<Promise<void>>();
    const send = async (): Promise<void> => {
      const connection = free.pop() ?? this.#connect();
      await this.#ask(connection, requests.next());
      this.#writes++;
      free.push(connection);
    };
    for (let sent = 0; performance.now() < this.#deadline;) {
      for (; sent < ((performance.now() - begun) / 1_000) * perSecond; sent++) {
        const one = send();
        underWay.add(one);
        void one.then(() => underWay.delete(one));
      }
      await new Promise((resolve) => setTimeout(resolve, TICK));
    }
    await Promise.all(underWay);
    for (const connection of free) connection.close();
  }

  /** A stream for each visitor of the kind. */
  #hold(kind: Kind): readonly Connection[] {
    return kind.visitors.map((visitor) => {
      const connection = this.#connect();
      const request = new Requests([{ ...kind, visitors: [visitor] }], this.#load.words).next();
      connection.send(textOf(request)).then(
        ({ status }) => this.#fail(request, `was answered with ${status}`),
        // The end of the load closes it.
        () => undefined,
      );
      return connection;
    });
  }

  async #ask(connection: Connection, request: Request): Promise<number> {
    try {
      const { status, bytes } = await connection.send(textOf(request));
      if (status === REFUSED) this.#refused++;
      else if (status >= 300) this.#fail(request, `was answered with ${status}`);
      return bytes;
    } catch (error) {
      this.#fail(request, String(error));
      return 0;
    }
  }

  #fail({ method, path }: Request, what: string): void {
    this.#error ??= `${method} ${path} ${what}`;
  }
}

process.on('message', (load: Load) => void new Run(load).measure().then((measured) => process.send?.(measured)));
endWithParent();
process.send?.({ port: 0 });
