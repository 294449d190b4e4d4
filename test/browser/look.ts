import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Result, RunOptions } from 'axe-core';
import { chromium, type Browser, type LaunchOptions, type Page } from 'playwright-core';
import { browserPath } from '../../config/tools/suites.ts';
import { painted } from './checks.ts';

/** The language and user agent of every browser window. */
export const LANGUAGE = 'en';
export const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';

/**
 * Starts the Chromium of this machine without background requests. Must be closed. The user agent is set for the
 * browser, as requests sent while a page closes ignore that of its context, and a session ends if it changes.
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
      // One process renders all windows: starting one for each takes as long as loading its pages.
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

/**
 * The axe rules that every page must pass. Only violations are described in full, and no style sheet is loaded a second
 * time: no rule here needs it.
 */
const RULES: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
  preload: false,
};
/** The source of axe, injected once per page, because parsing it takes as long as a check. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The findings of axe for the current page, as "rule: where". */
export async function judge(page: Page): Promise<readonly string[]> {
  await painted(page);
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
  // Content out of view is laid out only near the viewport: positions measured before that would be wrong.
  const violations = await page.evaluate<readonly Result[]>(`(async () => {
    const all = new CSSStyleSheet();
    // Fixed bars always cover something, which scrolling uncovers.
    all.replaceSync('* { content-visibility: visible !important } .bar, .tab-bar, x-position { position: static !important }');
    document.adoptedStyleSheets = [all];
    // Colours in transition between colour schemes are not checked.
    await Promise.all(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished.catch(() => undefined)));
    const { violations } = await axe.run(document, ${JSON.stringify(RULES)});
    document.adoptedStyleSheets = [];
    return violations;
  })()`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target.join(' ')} ${node.failureSummary?.split('\n')[1]?.trim() ?? ''}`),
  );
}
