import { parentPort, workerData } from 'node:worker_threads';
import type { UrlRules } from './url-rules.ts';
import { createParser } from './parser.ts';
import { createSanitiser } from './sanitise.ts';
import { highlight } from './syntax/highlighter.ts';

/** One step of one text. */
export interface RenderTask {
  readonly step: 'parse' | 'parse with colours' | 'sanitise';
  readonly text: string;
}
export type RenderResult = { readonly html: string } | { readonly problem: string };

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
  parentPort!.postMessage(result);
});
parentPort!.postMessage('ready');
