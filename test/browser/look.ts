import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Result, RunOptions } from 'axe-core';
import { chromium, type Browser, type LaunchOptions, type Page } from 'playwright-core';
import { painted } from './checks.ts';

/**
 * Chromium of the machine, with nothing in it that wants the network. Close it. Its language is that of the windows:
 * what a page sends when it is closed no longer knows that of its window, and a session that changes its language ends.
 */
export const openBrowser = (options: LaunchOptions = {}): Promise<Browser> =>
  chromium.launch({
    ...options,
    executablePath: process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--accept-lang=en',
    ],
  });

/** One page, seen once. */
export interface Sight {
  readonly path: string;
  readonly scheme: 'light' | 'dark';
  readonly width: number;
  readonly status: number;
  /** A PNG of the whole page; undefined where none was asked for. */
  readonly picture: string | undefined;
  /** axe's findings as "rule: where". */
  readonly violations: readonly string[];
  /** Console errors, page errors and what the security policy refused. */
  readonly errors: readonly string[];
  /** True when the page can be moved sideways. */
  readonly sideways: boolean;
}

export interface LookOptions {
  readonly url: string;
  readonly paths: readonly string[];
  readonly schemes?: readonly ('light' | 'dark')[];
  readonly widths?: readonly number[];
  readonly cookies?: ReadonlyMap<string, string>;
  readonly script?: boolean;
  /** Where pictures go; default: a new folder. `false`: none. */
  readonly folder?: string | false;
  readonly axe?: boolean;
  /** Runs on each page before it is judged. */
  readonly before?: (page: Page) => Promise<void>;
}

/** The rules of axe that every page keeps. Only violations are described in full. */
const RULES: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
};
/** axe as a page runs it, which takes as long to read as it takes to judge: each page reads it once. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Opens every path in every scheme and width, and reports what was seen. */
export async function look(options: LookOptions): Promise<readonly Sight[]> {
  const { url, paths, schemes = ['light', 'dark'], widths = [320, 1280], cookies = new Map(), script = true } = options;
  const folder =
    options.folder === false ? undefined : (options.folder ?? (await mkdtemp(join(tmpdir(), 'parley-look-'))));
  const browser = await openBrowser();
  const sights: Sight[] = [];
  try {
    for (const scheme of schemes) {
      for (const width of widths) {
        const context = await browser.newContext({
          viewport: { width, height: width < 600 ? 700 : 900 },
          colorScheme: scheme,
          javaScriptEnabled: script,
          reducedMotion: 'reduce',
        });
        await context.addCookies([...cookies].map(([name, value]) => ({ name, value, url })));
        for (const path of paths)
          sights.push(await see(await context.newPage(), { options, path, scheme, width, folder }));
        await context.close();
      }
    }
  } finally {
    await browser.close();
  }
  return sights;
}

interface Seeing {
  readonly options: LookOptions;
  readonly path: string;
  readonly scheme: 'light' | 'dark';
  readonly width: number;
  readonly folder: string | undefined;
}

async function see(page: Page, { options, path, scheme, width, folder }: Seeing): Promise<Sight> {
  const errors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  const answer = await page.goto(options.url + path, { waitUntil: 'networkidle' });
  await options.before?.(page);
  await painted(page);
  const scripted = options.script !== false;
  const violations = scripted && options.axe !== false ? await judge(page) : [];
  const sideways = scripted
    ? await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
    : false;
  const name = `${path.replace(/[^\w-]+/g, '_') || 'home'}-${scheme}-${width}.png`;
  const picture = folder && join(folder, name);
  if (picture) await page.screenshot({ path: picture, fullPage: true });
  await page.close();
  return {
    path,
    scheme,
    width,
    status: answer?.status() ?? 0,
    picture,
    violations,
    errors,
    sideways: sideways === true,
  };
}

/** axe's findings on the page as it is now, as "rule: where". */
export async function judge(page: Page): Promise<readonly string[]> {
  await painted(page);
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
  // What is out of view is laid out only when it comes near: places measured before would not be those that people see.
  const violations = await page.evaluate<readonly Result[]>(`(async () => {
    const all = new CSSStyleSheet();
    all.replaceSync('* { content-visibility: visible !important }');
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
