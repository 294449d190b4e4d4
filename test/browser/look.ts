import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Result, RunOptions } from 'axe-core';
import { chromium, type Browser, type LaunchOptions, type Page } from 'playwright-core';
import { browserPath } from '../../config/tools/suites.ts';
import { painted } from './checks.ts';

/** What every window says of itself. */
export const LANGUAGE = 'en';
export const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';

/**
 * Chromium of the machine, with nothing in it that wants the network. Close it. It is the browser that says what it is:
 * what a page sends when it is closed no longer knows that of its window, and a session whose browser changes ends.
 */
export const openBrowser = (options: LaunchOptions = {}): Promise<Browser> =>
  chromium.launch({
    executablePath: browserPath(process.env, existsSync),
    ...options,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      // One process draws all windows: starting another for each takes as long as the pages in it.
      '--renderer-process-limit=1',
      '--in-process-gpu',
      '--num-raster-threads=1',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--accept-lang=${LANGUAGE}`,
      `--user-agent=${USER_AGENT}`,
    ],
  });

/** The rules of axe that every page keeps. Only violations are described in full. */
const RULES: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
};
/** axe as a page runs it, which takes as long to read as it takes to judge: each page reads it once. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** axe's findings on the page as it is now, as "rule: where". */
export async function judge(page: Page): Promise<readonly string[]> {
  await painted(page);
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
  // What is out of view is laid out only when it comes near: places measured before would not be those that people see.
  const violations = await page.evaluate<readonly Result[]>(`(async () => {
    const all = new CSSStyleSheet();
    // What stays at the head or foot of the screen covers something wherever one is, and scrolling uncovers it.
    all.replaceSync('* { content-visibility: visible !important } .bar, .tab-bar, x-position { position: static !important }');
    document.adoptedStyleSheets = [all];
    // Colours on their way from one scheme to the other are nobody's to read.
    await Promise.all(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished.catch(() => undefined)));
    const { violations } = await axe.run(document, ${JSON.stringify(RULES)});
    document.adoptedStyleSheets = [];
    return violations;
  })()`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target.join(' ')} ${node.failureSummary?.split('\n')[1]?.trim() ?? ''}`),
  );
}
