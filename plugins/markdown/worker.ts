import { parentPort, workerData } from 'node:worker_threads';
import type { Rules } from './links.ts';
import { createParser } from './parser.ts';
import { createSanitiser } from './sanitise.ts';

/** One step of one text. */
export interface Order {
  readonly step: 'parse' | 'clean';
  readonly text: string;
}
export type Reply = { readonly html: string } | { readonly problem: string };

const rules = workerData as Rules;
const steps = { parse: createParser(rules).parse, clean: createSanitiser(rules) };

parentPort!.on('message', ({ step, text }: Order) => {
  let reply: Reply;
  try {
    reply = { html: steps[step](text) };
  } catch (error) {
    reply = { problem: error instanceof Error ? error.message : String(error) };
  }
  parentPort!.postMessage(reply);
});
parentPort!.postMessage('ready');
