import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { StatementMessage, TaskMessage } from '../diagnostics.ts';
import type { Hook } from '../hooks.ts';
import type { RouteInfo } from './routes.ts';

/** How long one task of a plugin took within a request, in milliseconds, and how often it ran. */
interface CallPart {
  readonly plugin: string;
  /** `handler`, or a listener, filter, query or slot such as `filter name.shown`. */
  readonly what: string;
  readonly times: number;
  readonly milliseconds: number;
}

/** One request and the work done on its behalf; it keeps growing while listeners run alongside the response. */
export interface RecordedCall {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Time until the handler had its result. */
  readonly milliseconds: number;
  readonly statements: number;
  /** Milliseconds spent on SQL; statements that run concurrently each count in full. */
  readonly sql: number;
  /** In the order in which they first ended. */
  readonly parts: readonly CallPart[];
  /** In the order in which they were first raised. */
  readonly hooks: readonly Pick<Hook, 'kind' | 'id'>[];
}

interface Recording {
  readonly at: number;
  readonly start: number;
  milliseconds: number;
  statements: number;
  sql: number;
  readonly parts: Map<string, { plugin: string; what: string; times: number; milliseconds: number }>;
  readonly hooks: Map<string, Pick<Hook, 'kind' | 'id'>>;
}

/** Number of calls kept per route. */
const KEPT = 5;

/** Attributes plugin code and SQL to the request that caused them, and reports both in `Server-Timing`. */
export class CallRecorder {
  readonly #recordings = new AsyncLocalStorage<Recording>();
  /** The newest is last. */
  readonly #byRoute = new Map<string, readonly Recording[]>();
  readonly #listeners: Readonly<Record<string, (message: unknown) => void>> = {
    'parley.statement': (message) => this.#statement(message as StatementMessage),
    'parley.task': (message) => this.#task(message as TaskMessage),
    'parley.hook': (message) => this.#hook(message as Hook),
  };

  constructor() {
    for (const [channel, listener] of Object.entries(this.#listeners)) subscribe(channel, listener);
  }

  close(): void {
    for (const [channel, listener] of Object.entries(this.#listeners)) unsubscribe(channel, listener);
  }

  /** Wraps each request. */
  readonly around = (_req: IncomingMessage, res: ServerResponse, answer: () => void): void => {
    const recording: Recording = {
      at: Date.now(),
      start: performance.now(),
      milliseconds: 0,
      statements: 0,
      sql: 0,
      parts: new Map(),
      hooks: new Map(),
    };
    const { writeHead } = res;
    res.writeHead = ((...head: Parameters<typeof writeHead>) => {
      if (!res.headersSent) res.setHeader('Server-Timing', serverTiming(recording));
      return writeHead.apply(res, head);
    }) as typeof writeHead;
    this.#recordings.run(recording, answer);
  };

  /** Runs a route's handler and records the call. */
  handle<T>(route: RouteInfo<any>, handler: () => T): T {
    const recording = this.#recordings.getStore();
    if (!recording) return handler();
    const key = keyOf(route);
    this.#byRoute.set(key, [...(this.#byRoute.get(key) ?? []), recording].slice(-KEPT));
    const start = performance.now();
    const end = (): void => {
      add(recording, route.plugin, 'handler', performance.now() - start);
      recording.milliseconds = performance.now() - recording.start;
    };
    let ended = true;
    try {
      const result = handler();
      if (!(result instanceof Promise)) return result;
      ended = false;
      return result.finally(end) as T;
    } finally {
      if (ended) end();
    }
  }

  /** The last calls that reached the route's handler, newest first. */
  callsOf(route: RouteInfo<any>): readonly RecordedCall[] {
    return (this.#byRoute.get(keyOf(route)) ?? [])
      .map((recording) => ({
        ...recording,
        parts: [...recording.parts.values()],
        hooks: [...recording.hooks.values()],
      }))
      .toReversed();
  }

  #statement(message: StatementMessage): void {
    const recording = this.#recordings.getStore();
    if (!recording) return;
    recording.statements++;
    const start = performance.now();
    message.ended = () => void (recording.sql += performance.now() - start);
  }

  #task({ plugin, task, milliseconds }: TaskMessage): void {
    const recording = this.#recordings.getStore();
    if (recording) add(recording, plugin, task, milliseconds);
  }

  #hook({ kind, id }: Hook): void {
    this.#recordings.getStore()?.hooks.set(`${kind} ${id}`, { kind, id });
  }
}

const keyOf = ({ surface, method, path }: RouteInfo<any>): string => `${surface.id} ${method} ${path}`;

function add({ parts }: Recording, plugin: string, what: string, milliseconds: number): void {
  const key = `${plugin} ${what}`;
  const part = parts.get(key) ?? { plugin, what, times: 0, milliseconds: 0 };
  parts.set(key, { ...part, times: part.times + 1, milliseconds: part.milliseconds + milliseconds });
}

/**
 * The header as browsers' developer tools display it: the total, SQL, then each plugin's tasks. Tasks may nest and
 * overlap.
 */
function serverTiming({ start, statements, sql, parts }: Recording): string {
  const metric = (name: string, milliseconds: number, text: string): string =>
    `${name};dur=${milliseconds.toFixed(1)};desc="${text.replaceAll(UNQUOTABLE, '?')}"`;
  return [
    metric('total', performance.now() - start, 'until the response begins'),
    metric('sql', sql, `${statements} ${statements === 1 ? 'statement' : 'statements'}`),
    ...[...parts.values()].map(({ plugin, what, times, milliseconds }) =>
      metric(plugin, milliseconds, `${plugin}: ${what}${times > 1 ? `, ${times} times` : ''}`),
    ),
  ].join(', ');
}

/** Characters that a quoted string in a header cannot hold. */
const UNQUOTABLE = /[^ !#-[\]-~]/g;
