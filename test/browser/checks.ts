import type { Page } from 'playwright-core';

/**
 * Errors, failed requests and policy violations that a page reports while it is open; the list grows as they happen.
 */
export function listen(page: Page): string[] {
  const heard: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) heard.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => heard.push(`error: ${error.message}`));
  page.on('requestfailed', (request) => {
    const failure = request.failure()?.errorText;
    // Aborted by the browser itself when the page was left; failures caused by a server or a policy have other names.
    if (failure !== 'net::ERR_ABORTED') heard.push(`request: ${request.url()} ${failure}`);
  });
  return heard;
}

/**
 * Waits until the page looks final: with its style sheets and fonts, and painted once. Checks before that would see a
 * different page.
 */
export async function painted(page: Page): Promise<void> {
  // Without JavaScript the page cannot resolve promises; everything it loads is there with its load event.
  if (await page.evaluate('matchMedia("(scripting: enabled)").matches')) await page.evaluate(PAINTED);
  else await page.waitForLoadState('load');
}

/** Waits until these elements are defined: before that, a press may act as it does without JavaScript. */
export async function defined(page: Page, ...elements: readonly string[]): Promise<void> {
  for (const element of elements) await page.locator(`${element}:defined`).first().waitFor({ state: 'attached' });
}

/** Opens a page and waits for its live stream and these elements: the page receives no events from before that. */
export async function openListening(page: Page, path: string, ...elements: readonly string[]): Promise<void> {
  const begun = page.waitForResponse((answer) => new URL(answer.url()).pathname === '/api/live');
  await Promise.all([begun, page.goto(path)]);
  await defined(page, 'x-live', ...elements);
}

/** Lets time pass on the page's own clock: even on a busy machine, timers that end before have fired by then. */
export const pass = (page: Page, milliseconds: number): Promise<void> =>
  page.evaluate(`new Promise((done) => { setTimeout(done, ${milliseconds}); })`);

/** Types characters into the focused field, without timers of the page in between as on a busy machine. */
export const typeAtOnce = (page: Page, text: string): Promise<void> =>
  page.evaluate(`{ for (const letter of ${JSON.stringify(text)}) document.execCommand('insertText', false, letter); }`);

const PAINTED = `(async () => {
  const late = [...document.querySelectorAll('link[rel="stylesheet"]')].filter((link) => !link.sheet);
  await Promise.all(late.map((link) => new Promise((done) => { link.onload = link.onerror = done; })));
  await document.fonts.ready;
  await new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); setTimeout(done, 1_000); });
})()`;

/** Scrolls through the page, so that every element that loads its module when in view does so, and waits for them. */
export const settle = (page: Page): Promise<void> =>
  page.evaluate(`(async () => {
  const { elements } = JSON.parse(document.getElementById('forum').textContent);
  // Modules of elements that are hidden, or wait for a pointer, load when they are needed.
  const first = (tag) => [...document.querySelectorAll(tag + ':not([data-when])')].find((one) => one.checkVisibility());
  const found = Object.values(elements).flat().map(first).filter(Boolean);
  for (const element of found) {
    if (customElements.get(element.localName)) continue;
    element.scrollIntoView();
    // Elements near the viewport are looked for once per frame.
    await new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)));
  }
  await Promise.all(found.map(({ localName }) => customElements.whenDefined(localName)));
  scrollTo(0, 0);
})()`);

/** True if the page can be scrolled horizontally. */
export async function movesSideways(page: Page): Promise<boolean> {
  await painted(page);
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

/** Elements that are visible although the page hides them. */
export const shownThoughHidden = (page: Page): Promise<readonly string[]> =>
  page.evaluate(`(() => {
  ${NAME}
  return [...document.querySelectorAll('[hidden]:not([hidden="until-found"])')].filter((one) => one.getClientRects().length > 0).map(name);
})()`);

/** Names an element in a finding. */
const NAME = `const name = (element) => {
  const words = (element.getAttribute('aria-label') ?? element.textContent ?? '').trim().replace(/\\s+/g, ' ').slice(0, 40);
  const classes = [...element.classList].map((one) => '.' + one).join('');
  return element.localName + (element.id && '#' + element.id) + classes + (words && ' "' + words + '"');
};`;

/**
 * Where the focus is: undefined on the page itself, `again` if it was there before; `seen` if any of nine points of it
 * is not covered.
 */
const FOCUS = `(async () => {
  ${NAME}
  const focused = document.activeElement;
  if (!focused || focused === document.body || focused === document.documentElement) return undefined;
  const walked = (globalThis.walked ??= new Set());
  if (walked.has(focused)) return { again: true };
  walked.add(focused);
  const own = [focused, ...(focused.labels ?? [])];
  const look = () => own.some((part) => [...part.getClientRects()].some((box) => [.02, .5, .98].some((x) => [.02, .5, .98].some((y) => {
    const hit = document.elementFromPoint(box.left + box.width * x, box.top + box.height * y);
    return hit !== null && own.some((one) => one.contains(hit));
  }))));
  const still = () => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => undefined)));
  return { again: false, name: name(focused), seen: look() || (await still(), look()) };
})()`;

/** More Tab stops than any page has. */
const MOST_STOPS = 500;

/**
 * Moves through the page with the Tab key. Returns focused elements that cannot be seen at all; throws if the walk does
 * not end.
 */
export async function walkFocus(page: Page): Promise<readonly string[]> {
  await painted(page);
  await page.evaluate('globalThis.walked = new Set(), document.activeElement?.blur(), scrollTo(0, 0)');
  const unseen: string[] = [];
  for (let stops = 0; stops < MOST_STOPS; stops++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate<{ again: boolean; name: string; seen: boolean } | undefined>(FOCUS);
    if (!at || at.again) {
      if (stops === 0) throw new Error(`the Tab key reaches nothing on ${page.url()}`);
      return unseen;
    }
    if (!at.seen) unseen.push(at.name);
  }
  throw new Error(`more than ${MOST_STOPS} stops of the Tab key on ${page.url()}, or a trap`);
}

/**
 * Applies the text spacing of WCAG 1.4.12, returns elements that are then cut off, and reverts it. Exceptions: excerpts
 * of a few lines, which are always truncated, and text that the page's title contains in full.
 */
export const spaceText = (page: Page): Promise<readonly string[]> =>
  painted(page).then(() =>
    page.evaluate(`(() => {
  ${NAME}
  const sheet = new CSSStyleSheet();
  const letters = 'line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important';
  sheet.replaceSync('* { ' + letters + ' } p { margin-block-end: 2em !important }');
  document.adoptedStyleSheets = [sheet];
  const cut = [...document.querySelectorAll('body *')].filter((element) => {
    const { overflowX, overflowY, clipPath, display, webkitLineClamp } = getComputedStyle(element);
    const text = element.textContent.trim();
    if (display === 'inline' || clipPath !== 'none' || webkitLineClamp !== 'none') return false;
    if (document.title.includes(text) || !element.checkVisibility()) return false;
    const across = ['hidden', 'clip'].includes(overflowX) && element.scrollWidth > element.clientWidth + 1;
    const down = ['hidden', 'clip'].includes(overflowY) && element.scrollHeight > element.clientHeight + 1;
    return across || down;
  }).map(name);
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) cut.push('the page moves sideways');
  document.adoptedStyleSheets = [];
  return cut;
})()`),
  );

/** Animations longer than a millisecond that run although the visitor prefers reduced motion. */
export const moving = (page: Page): Promise<readonly string[]> =>
  page.evaluate(`document.getAnimations()
  .filter((one) => Number(one.effect?.getTiming().duration) > 1)
  .map((one) => one.animationName ?? one.transitionProperty ?? 'animation')`);

/** With forced colours: links to the current page that look like their siblings. */
export const lostMarks = (page: Page): Promise<readonly string[]> =>
  page.evaluate(`(() => {
  ${NAME}
  const looks = (element) => {
    const style = getComputedStyle(element);
    const borders = ['borderBlockEnd', 'borderInlineStart', 'borderBlockStart', 'outline'];
    return ['fontWeight', 'textDecorationLine', 'backgroundColor', 'color', ...borders].map((key) => style[key]).join();
  };
  return [...document.querySelectorAll('[aria-current="page"]')].filter((element) => {
    const other = element.closest('ul, ol')?.querySelector('a:not([aria-current])');
    return other && element.checkVisibility() && looks(element) === looks(other);
  }).map(name);
})()`);
