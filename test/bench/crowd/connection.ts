import { connect, type Socket } from 'node:net';

export interface Answer {
  readonly status: number;
  /** Of the body, as it came over the wire. */
  readonly bytes: number;
}

interface Head {
  readonly status: number;
  /** Bytes of the head itself, and of the body; undefined for one that comes in chunks. */
  readonly length: number;
  readonly body: number | undefined;
}

interface Waiting {
  done(answer: Answer): void;
  failed(error: Error): void;
}

const HEAD_END = '\r\n\r\n';
/** How a body in chunks ends; with one request at a time on a connection nothing follows it. */
const CHUNKS_END = Buffer.from('\r\n0\r\n\r\n');

/**
 * One keep-alive connection with one request at a time. It looks at no more of an answer than where it ends, so that
 * the load takes as little as can be of the machine that both sides share.
 */
export class Connection {
  readonly #socket: Socket;
  #waiting: Waiting | undefined;
  #head: Head | undefined;
  #received = 0;
  /** All that came while the head is not complete, then the last few bytes. */
  #last: Buffer = Buffer.alloc(0);

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#socket = connect(Number(port), hostname).setNoDelay();
    this.#socket.on('data', (part) => this.#read(part as Buffer));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the connection was closed')));
  }

  /** `request`: line, headers and body. */
  send(request: string): Promise<Answer> {
    return new Promise((done, failed) => {
      this.#waiting = { done, failed };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    this.#waiting?.failed(error);
    this.#waiting = undefined;
  }

  #read(part: Buffer): void {
    this.#received += part.length;
    this.#last =
      this.#last.length === 0 || (this.#head && part.length >= CHUNKS_END.length)
        ? part
        : Buffer.concat([this.#last, part]);
    this.#head ??= headOf(this.#last);
    if (!this.#head) return;
    const { status, length, body } = this.#head;
    const ended =
      body === undefined ? this.#last.subarray(-CHUNKS_END.length).equals(CHUNKS_END) : this.#received >= length + body;
    if (!ended) {
      this.#last = this.#last.subarray(-CHUNKS_END.length);
      return;
    }
    const answer = { status, bytes: this.#received - length };
    [this.#head, this.#received, this.#last] = [undefined, 0, Buffer.alloc(0)];
    this.#waiting?.done(answer);
  }
}

/** Undefined while it is not complete. */
function headOf(start: Buffer): Head | undefined {
  const end = start.indexOf(HEAD_END);
  if (end < 0) return undefined;
  const text = start.toString('latin1', 0, end);
  const status = Number(text.slice(9, 12));
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
  const body = status === 204 || status === 304 ? 0 : length === undefined ? undefined : Number(length);
  return { status, length: end + HEAD_END.length, body };
}
