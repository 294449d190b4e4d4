import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { FULL, inFull } from '../kit/full.ts';
import { movesSideways } from './checks.ts';
import { PASSWORD, useForum, type Visitor } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const area = (page: Page): Locator => page.getByLabel('Your text');
const offer = (page: Page): Locator => page.locator('.quote-offer:popover-open').getByRole('button');

/** Starts a discussion as ada with a reply by mia; returns its path. */
async function written(): Promise<string> {
  const [ada, mia] = [forum.app.client(), forum.app.client()];
  await ada.login('ada', PASSWORD);
  await mia.login('mia', PASSWORD);
  const { discussion } = (
    await ada.post('/api/discussions', {
      title: 'Oars',
      content: 'Made of *ash*.\n\nNot of oak.',
      category_id: 'general',
    })
  ).body as { discussion: { id: string; number: number } };
  await mia.put(`/api/users/${forum.people.mia.id}`, { display_name: 'Mia of the Yard' });
  await mia.post('/api/posts', { discussion_id: discussion.id, content: 'Is 2 \\* 3 m long?\n\n\\- or longer' });
  return `/d/${discussion.number}`;
}
async function open(path: string, visitor: Visitor = 'bob', width = 1280): Promise<Page> {
  const page = await forum.open(visitor, { viewport: { width, height: 800 } });
  await page.goto(path);
  await page.evaluate('customElements.whenDefined("x-posts").then(() => true)');
  return page;
}
const select = (page: Page, post: number, paragraph?: number): Promise<void> =>
  page.evaluate(`{
    const prose = document.querySelector('#post-${post} .prose');
    getSelection().selectAllChildren(${paragraph === undefined ? 'prose' : `prose.children[${paragraph}]`});
  }`);

test.runIf(FULL)('quoting twice before the editor is ready quotes once', async () => {
  const page = await forum.open('bob');
  const { promise, resolve: release } = Promise.withResolvers<void>();
  await page.route('**/x-composer.js', async (route) => {
    await promise;
    await route.continue();
  });
  await page.goto(await written());
  await page.evaluate('customElements.whenDefined("x-posts").then(() => true)');
  await select(page, 1, 0);
  await offer(page).click();
  await offer(page).click();
  release();
  await expect.poll(() => area(page).inputValue()).toContain('ash');
  await page.waitForTimeout(500);
  expect((await area(page).inputValue()).match(/ash/g)).toHaveLength(1);
  await page.context().close();
});

test('selections from posts are appended to the reply, one quote after another', async () => {
  const path = await written();
  const page = await open(path);
  await area(page).fill('Well.');
  // As a press on the text of a post would.
  await area(page).blur();
  await select(page, 1, 0);
  await offer(page).click();
  await expect.poll(() => area(page).inputValue()).toContain('ash');
  // The first quote opens the reply.
  await page.locator('.docked textarea:focus').waitFor();
  await area(page).blur();
  await select(page, 2);
  await offer(page)
    .filter({ hasText: /^Quote$/ })
    .click();
  await expect
    .poll(() => area(page).inputValue())
    .toBe(
      `Well.\n\n> [@ada](${path}):\n> Made of *ash*.\n\n> [@mia](${path}/2#post-2):\n> Is 2 \\* 3 m long?\n>\n> \\- or longer\n\n`,
    );
  await expect.poll(() => page.locator('#announcer').textContent()).toBe('The quote was added to your reply.');
  await page.getByRole('button', { name: 'Go to your reply' }).click();
  await page.keyboard.type('Yes.');
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  const quoted = page.locator('#post-3 blockquote');
  await quoted.first().waitFor();
  await expect
    .poll(async () => (await quoted.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ')))
    .toEqual(['@ada: Made of ash.', '@mia: Is 2 * 3 m long? - or longer']);
  await expect.poll(() => page.locator('#post-3 .prose').innerText()).toMatch(/Yes\.$/);
  // With several quotes, no single post is answered.
  expect(await page.locator('#post-3 .post-to').count()).toBe(0);
  await page.context().close();
});

/** Starts a discussion with a text; returns its path and the HTML of the text. */
async function post(content: string): Promise<{ readonly path: string; readonly html: string }> {
  const ada = forum.app.client();
  await ada.login('ada', PASSWORD);
  const body = { title: 'Formatted', content, category_id: 'general' };
  const { discussion } = (await ada.post('/api/discussions', body)).body as { discussion: { number: number } };
  const { posts } = (await ada.get(`/api/discussions/${discussion.number}/posts`)).body as {
    posts: readonly { html: string }[];
  };
  return { path: `/d/${discussion.number}`, html: posts[0]!.html };
}
/** The quotation of what an expression selects, without the line that names the author. */
async function quoted(path: string, selects: string): Promise<string> {
  const page = await open(path);
  await page.evaluate(`{
    const prose = document.querySelector('#post-1 .prose');
    const textOf = (selector) => prose.querySelector(selector).firstChild;
    ${selects};
  }`);
  await offer(page).click();
  await expect.poll(() => area(page).inputValue()).toContain('> ');
  const value = await area(page).inputValue();
  await page.context().close();
  return value
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.replace(/^> ?/, ''))
    .join('\n');
}
const ALL = 'getSelection().selectAllChildren(prose)';
async function rendered(content: string): Promise<string> {
  const ada = forum.app.client();
  return ((await ada.post('/api/markdown/parse', { content })).body as { html: string }).html;
}
/** Without what differs between two renderings of the same text. */
const plainly = (html: string): string => html.replace(/ (?:width|height|srcset|sizes)="[^"]*"/g, '').trim();

test('a quotation keeps the formatting of the whole text', async () => {
  const content = [
    '# Oars',
    'Of **ash** and *oak*, ~~not `pine`~~, see [the list](https://example.org/a_(b)) by @mia.\nA second line.',
    '```ts\nconst oars = `two`;\n\n  // ``` deep\n```'.replace('``` deep', '` deep'),
    '1. one\n2. two\n   - inner\n   - more',
    '- [x] sanded\n- [ ] oiled',
    '> said *before*\n>\n> > and before that',
    '| a | b |\n| --- | --- |\n| `x \\| y` | **z** |',
    '![A picture](/assets/none.png)',
    ':::spoiler The end\n\nIt *breaks*.\n\n:::',
    'A ||small|| one.\n\n***\n\n`` a ` b ``',
  ].join('\n\n');
  const { path, html } = await post(content);
  const markdown = await quoted(path, ALL);
  expect(plainly(await rendered(markdown))).toBe(plainly(html));
});

test('a quotation of a part keeps what the part is in', async () => {
  const { path } = await post(
    '```ts\nconst a = 1;\nconst b = 2;\n```\n\nOne **bold word** here.\n\n- first\n- second\n- third\n\n:::spoiler\nHidden words\n:::\n\n![Only](/assets/none.png)',
  );
  const part = (selector: string, from: number, to: number): string =>
    `getSelection().setBaseAndExtent(textOf('${selector}'), ${from}, textOf('${selector}'), ${to})`;
  const code =
    "const spans = prose.querySelectorAll('pre code *, pre code'); const [c] = [prose.querySelector('pre code')];";
  expect(await quoted(path, `${code} getSelection().setBaseAndExtent(c, 0, c, 2)`)).toMatch(
    /^\n?```ts\nconst[^`]*\n```$/,
  );
  expect(await quoted(path, part('strong', 0, 4))).toBe('**bold**');
  const items = `const [one, two] = prose.querySelectorAll('ul li'); getSelection().setBaseAndExtent(one.firstChild, 2, two.firstChild, 3)`;
  expect(await quoted(path, items)).toBe('\n- rst\n- sec');
  const hidden = `prose.querySelector('details').open = true; getSelection().selectAllChildren(prose.querySelector('details p'))`;
  expect(await quoted(path, hidden)).toBe('\n:::spoiler\n\nHidden words\n\n:::');
  const picture = `const p = prose.querySelector('img').closest('p'); getSelection().selectAllChildren(p)`;
  expect(await quoted(path, picture)).toBe('![Only](/assets/none.png)');
});

test('nothing of a page becomes other markup in a quotation', async () => {
  const HOSTILE = [
    '<script>alert(1)</script> **x** [y](javascript:alert(1)) ![z](https://evil.example/x.png)',
    '# heading',
    '- item',
    '7. item',
    '> quote',
    '```',
    ':::spoiler x',
    '---',
    '===',
    '[^1]: note',
    '| a | b',
    ':-',
    '@ada &lt;b&gt; ||open|| `code` ~~s~~ _e_ \\*',
    '[ref]: https://evil.example',
    '    indented',
  ];
  // As text of an element, of code and of attributes, which no Markdown would produce.
  const { path } = await post('Words');
  const page = await open(path);
  await page.evaluate(`{
    const prose = document.querySelector('#post-1 .prose');
    const make = (tag, text, attributes = {}) => {
      const element = Object.assign(document.createElement(tag), { textContent: text });
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      return element;
    };
    const lines = ${JSON.stringify(HOSTILE)};
    const paragraphs = lines.map((line) => make('p', line));
    const broken = make('p', '');
    for (const line of lines) broken.append(line, make('br', ''));
    const link = make('p', '');
    link.append(make('a', '](https://evil.example) **x**', { href: '/u/ada) **b** [c](/d' }));
    const image = make('p', '');
    image.append(make('img', '', { src: '/assets/none.png) **b**', alt: '](x) **bold**' }));
    const code = make('p', '');
    code.append(make('code', '\`\` **b** \`'));
    const block = make('pre', '');
    block.append(make('code', '\`\`\`\\n**b**\\n~~~', { class: 'language-ts**b** x' }));
    prose.replaceChildren(...paragraphs, broken, link, image, code, block);
    getSelection().selectAllChildren(prose);
  }`);
  await offer(page).click();
  await expect.poll(() => area(page).inputValue()).toContain('> ');
  const html = await rendered(await area(page).inputValue());
  await page.context().close();
  // One quotation with the author's link, that link, that picture and that code; everything else is text.
  const tags = [...html.matchAll(/<(\w[\w-]*)/g)].map(([, tag]) => tag!);
  const count = (tag: string): number => tags.filter((one) => one === tag).length;
  expect([...new Set(tags)].toSorted()).toEqual(
    ['a', 'blockquote', 'br', 'code', 'figcaption', 'figure', 'img', 'p', 'pre', 'span', 'x-copy'].filter(
      (tag) => count(tag) > 0,
    ),
  );
  expect([count('blockquote'), count('img'), count('code'), count('pre')]).toEqual([1, 1, 2, 1]);
  expect(html).not.toMatch(/href="javascript/);
  // An address in a text is a link anywhere; it shows where it leads.
  const foreign = [...html.matchAll(/<a href="(https:\/\/evil[^"]*)"[^>]*>([^<]*)</g)];
  expect(foreign.every(([, href, shown]) => href!.startsWith(shown!))).toBe(true);
  expect(html).not.toMatch(/class="mention" href="\/u\/ada"/);
});

test('a single quoted post is answered, unless the reply already answers another', async () => {
  const path = await written();
  const page = await open(path);
  await select(page, 2);
  await offer(page).click();
  await page.locator('.dock-head').getByText('Reply to Mia of the Yard, post 2').waitFor();
  await page.keyboard.type('Three.');
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  await page.locator('#post-3').getByRole('link', { name: 'in reply to #2 by Mia of the Yard' }).waitFor();
  await page.locator('#post-3').getByRole('link', { name: 'Reply', exact: true }).click();
  await page.locator('.dock-head').getByText('Reply to bob, post 3').waitFor();
  await select(page, 2);
  await offer(page).click();
  await expect.poll(() => area(page).inputValue()).toContain('> Is 2');
  expect(await page.locator('.dock-head span').textContent()).toBe('Reply to bob, post 3');
  await page.context().close();
});

test('quoting by keyboard: with a shortcut, or with Tab from the selection', async () => {
  const page = await open(await written());
  await select(page, 1, 1);
  await offer(page).waitFor();
  await page.keyboard.press('q');
  await expect.poll(() => area(page).inputValue()).toContain('> Not of oak.');
  await page.locator('.docked textarea:focus').waitFor();
  // The last paragraph, with a selection that ends in the next element.
  await page.locator('#post-2 .prose p').last().click({ clickCount: 3 });
  await offer(page)
    .filter({ hasText: /^Quote$/ })
    .waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect.poll(() => area(page).inputValue()).toContain('> \\- or longer\n\n');
  // Inserting text changes the selection in the field, which is evaluated again.
  await page.waitForTimeout(400);
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Go to your reply');
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.localName')).toBe('textarea');
  await page.context().close();
});

test.runIf(FULL)('quoting restores a draft before appending to it', async () => {
  const path = await written();
  const page = await open(path);
  await area(page).pressSequentially('A thought');
  await page.getByText(/^Saved \d/).waitFor();
  await page.goto('/');
  await page.goto(path);
  await page.evaluate('scrollTo(0, 0)');
  await select(page, 1, 0);
  await offer(page).click();
  await expect.poll(() => area(page).inputValue()).toMatch(/^A thought\n\n> \[@ada\]/);
  await page.context().close();
});

test.each([320, ...inFull(1280)])(
  'the quote button is within a viewport of %i pixels, accessible, and closed by Escape',
  async (width) => {
    const page = await open(await written(), 'bob', width);
    await select(page, 2);
    await offer(page).waitFor();
    const box = (await offer(page).boundingBox())!;
    expect(box.x >= 0 && box.x + box.width <= width && box.height >= 24).toBe(true);
    expect(await movesSideways(page)).toBe(false);
    expect(await judge(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await offer(page).waitFor({ state: 'detached' });
    await page.context().close();
  },
);

test('quoting is not offered across posts, nor to users who cannot reply', async () => {
  const path = await written();
  const page = await open(path);
  await page.evaluate(
    `getSelection().setBaseAndExtent(document.querySelector('#post-1 .prose'), 0, document.querySelector('#post-2 .prose'), 1)`,
  );
  await page.waitForTimeout(500);
  expect(await offer(page).count()).toBe(0);
  await page.context().close();
  const guest = await open(path, 'guest');
  await select(guest, 1);
  await guest.waitForTimeout(500);
  expect([await offer(guest).count(), await guest.locator('x-quote').count()]).toEqual([0, 0]);
  await guest.context().close();
});
