import { parentPort, workerData } from 'node:worker_threads';
import type { UrlRules } from './url-rules.ts';
import { createParser } from './parser.ts';
import { createSanitiser } from './sanitise.ts';
import { highlight } from './syntax/highlighter.ts';

/** One step in rendering a text. */
export interface RenderTask {
  readonly step: 'parse' | 'parse with colours' | 'sanitise';
  readonly text: string;
}
export type RenderResult = { readonly html: string } | { readonly problem: string };
/** Sent without a result when the thread is ready, and after each task. */
export interface WorkerMessage {
  readonly result?: RenderResult;
  /** Milliseconds of processor time that the thread has used since it started. */
  readonly used: number;
}

const rules = workerData as UrlRules;
const steps = {
  parse: createParser(rules).parse,
  'parse with colours': createParser(rules, highlight).parse,
  sanitise: createSanitiser(rules),
};

parentPort!.on('message', ({ step, text }: RenderTask) => {
  let result: RenderResult;
  try {
    result = { html: steps[step](text) };
  } catch (error) {
    result = { problem: error instanceof Error ? error.message : String(error) };
  }
  send(result);
});
send();

function send(result?: RenderResult): void {
  const { user, system } = process.threadCpuUsage();
  parentPort!.postMessage({ ...(result && { result }), used: (user + system) / 1_000 } satisfies WorkerMessage);
}
