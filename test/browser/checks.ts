import type { Page } from 'playwright-core';

/**
 * What a page complains about while it is open, added to as it happens: errors, failed requests, and what its policies
 * refused.
 */
export function listen(page: Page): string[] {
  const heard: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) heard.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => heard.push(`error: ${error.message}`));
  page.on('requestfailed', (request) => {
    const failure = request.failure()?.errorText;
    // Aborted by the browser itself, because the page was left; what a server or a policy does has other names.
    if (failure !== 'net::ERR_ABORTED') heard.push(`request: ${request.url()} ${failure}`);
  });
  return heard;
}

/**
 * Waits until the page is as people see it: with its style sheets and letters, and drawn once. Whatever is judged
 * before is another page.
 */
export async function painted(page: Page): Promise<void> {
  // Without script nothing that is asynchronous comes back from the page; what it loads is there with its load event.
  if (await page.evaluate('matchMedia("(scripting: enabled)").matches')) await page.evaluate(PAINTED);
  else await page.waitForLoadState('load');
}

/** Waits until these elements do what they are for: until then a press may do what it does without script. */
export async function defined(page: Page, ...elements: readonly string[]): Promise<void> {
  for (const element of elements) await page.locator(`${element}:defined`).first().waitFor({ state: 'attached' });
}

/** Opens a page and waits until its stream has begun and these elements are there: nothing that happens before is told to it. */
export async function openListening(page: Page, path: string, ...elements: readonly string[]): Promise<void> {
  const begun = page.waitForResponse((answer) => new URL(answer.url()).pathname === '/api/live');
  await Promise.all([begun, page.goto(path)]);
  await defined(page, 'x-live', ...elements);
}

/** Lets time pass as the page counts it: however busy the machine is, its own timers that end before have run then. */
export const pass = (page: Page, milliseconds: number): Promise<void> =>
  page.evaluate(`new Promise((done) => { setTimeout(done, ${milliseconds}); })`);

/** Types letter by letter into the field that has the focus. No timer of the page runs between, as one may between keys on a busy machine. */
export const typeAtOnce = (page: Page, text: string): Promise<void> =>
  page.evaluate(`{ for (const letter of ${JSON.stringify(text)}) document.execCommand('insertText', false, letter); }`);

const PAINTED = `(async () => {
  const late = [...document.querySelectorAll('link[rel="stylesheet"]')].filter((link) => !link.sheet);
  await Promise.all(late.map((link) => new Promise((done) => { link.onload = link.onerror = done; })));
  await document.fonts.ready;
  await new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); setTimeout(done, 1_000); });
})()`;

/** Scrolls through the page, so that every element on it has loaded its module that does so by being in view, and waits for them. */
export const settle = (page: Page): Promise<void> =>
  page.evaluate(`(async () => {
  const { elements } = JSON.parse(document.getElementById('forum').textContent);
  // What is hidden, or waits to be pointed at, is loaded when somebody needs it.
  const first = (tag) => [...document.querySelectorAll(tag + ':not([data-when])')].find((one) => one.checkVisibility());
  const found = Object.values(elements).flat().map(first).filter(Boolean);
  for (const element of found) {
    if (customElements.get(element.localName)) continue;
    element.scrollIntoView();
    // What is near is looked for once in a frame.
    await new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)));
  }
  await Promise.all(found.map(({ localName }) => customElements.whenDefined(localName)));
  scrollTo(0, 0);
})()`);

/** True when the page can be moved sideways. */
export async function movesSideways(page: Page): Promise<boolean> {
  await painted(page);
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

/** What is on the page although the page hides it. */
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
 * Where the focus is: undefined at the page itself, `again` where it was before; `seen` when any of nine points of it
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

/** More stops of the Tab key than any page has. */
const MOST_STOPS = 500;

/**
 * Goes through the page with the Tab key. Names what is reached and cannot be seen at all; throws when the walk does
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
 * Puts the spacing of WCAG 1.4.12 on the page and names what is cut off then; takes it away again. Not meant: excerpts
 * of a few lines, which are cut anyway, and what the page's title says in full.
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

/** What still moves although the visitor asked for less motion: longer than a millisecond. */
export const moving = (page: Page): Promise<readonly string[]> =>
  page.evaluate(`document.getAnimations()
  .filter((one) => Number(one.effect?.getTiming().duration) > 1)
  .map((one) => one.animationName ?? one.transitionProperty ?? 'animation')`);

/** With forced colours: links to the current page that look like their neighbours. */
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
