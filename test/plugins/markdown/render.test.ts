import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { InvalidInput } from 'parley-forum';
import { permittedImages } from '../../../plugins/markdown/permitted-images.ts';
import { Renderer } from '../../../plugins/markdown/renderer.ts';
import { createSanitiser } from '../../../plugins/markdown/sanitise.ts';
import { RenderThread } from '../../../plugins/markdown/render-thread.ts';
import { REPEATING, SEARCHING, SLOW_CODE, SWELLING } from './hostile.ts';

const rules = { origin: 'http://localhost:3000', imageHosts: ['pictures.example'] };
const renderer = new Renderer(rules, async (html) => html);
afterAll(() => renderer.close());
const render = (source: string): Promise<string> => renderer.render(source);
/** What people write, some 64 KiB of it: what takes how long is judged by it, as machines differ. */
const ORDINARY = 'A word *and* a [link](http://a.b/c) in `code`.\n\n'.repeat(1_365);

describe('Markdown', () => {
  it('leaves the first two levels of headings to the page, and no level out below them', async () => {
    expect(await render('# One\n\n## Two\n\n#### Four\n\n###### Six')).toBe(
      '<h3 dir="auto">One</h3>\n<h4 dir="auto">Two</h4>\n<h5 dir="auto">Four</h5>\n<h6 dir="auto">Six</h6>\n',
    );
    expect(await render('## Two\n\n### Three\n\n## Two\n\n# One')).toBe(
      '<h3 dir="auto">Two</h3>\n<h4 dir="auto">Three</h4>\n<h3 dir="auto">Two</h3>\n<h3 dir="auto">One</h3>\n',
    );
  });

  it('keeps line breaks, as people write them', async () => {
    expect(await render('one\ntwo')).toBe('<p dir="auto">one<br />\ntwo</p>\n');
  });

  it('lets the first strong letter decide the direction of each outermost block', async () => {
    const html = await render('مرحبا\n\n> quote\n\n- item\n\n|a|\n|-|\n|b|');
    for (const tag of ['p', 'blockquote', 'ul']) expect(html).toContain(`<${tag} dir="auto">`);
    expect(html).toContain('<div class="table-scroll" tabindex="0" role="region" aria-label="a" dir="auto"><table>');
    expect(html).toContain('<li>item</li>');
  });

  it('shows code as it is, left to right, under the name of its language', async () => {
    expect(await render('```Cobol {1}\nif (a < b && c) "x";\n```')).toBe(
      '<figure class="code" dir="ltr"><figcaption>cobol</figcaption><x-copy></x-copy><pre dir="ltr" tabindex="0"><code class="language-cobol">if (a &lt; b &amp;&amp; c) "x";\n</code></pre></figure>\n',
    );
  });

  it('gives the words of code classes, in dozens of languages and those within them', async () => {
    const html = await render('```html\n<b>1</b><script>let a = "<"; // x</script>\n```\n\n~~~rs\nfn main() {}\n~~~');
    expect(html).toContain('<figcaption>HTML</figcaption>');
    expect(html).toContain('<span class="code-keyword">let</span> a = <span class="code-string">"&lt;"</span>');
    expect(html).toContain('<span class="code-comment">// x</span>');
    expect(html).toContain('<span class="code-keyword">fn</span> <span class="code-name">main</span>() {}');
  });

  it('leaves colours out where they would make the page too large, or take too long', async () => {
    const large = '{"a":1,"b":[true,null]}\n'.repeat(1_800);
    expect(await render(`\`\`\`json\n${large}\`\`\``)).not.toContain('<span');
    expect(await render(`\`\`\`json\n${large.slice(0, 4_000)}\`\`\``)).toContain('<span');
    const slow = vi
      .spyOn(RenderThread.prototype, 'run')
      .mockImplementationOnce(() => Promise.reject(new InvalidInput([{ field: 'content', message: 'too intricate' }])));
    expect(await render('```js\nlet a\n```')).toContain('<code class="language-js">let a\n</code>');
    slow.mockRestore();
  });

  it('aligns columns by class, never by style', async () => {
    const html = await render('|a|b|\n|:-:|--:|\n|1|~~2~~|');
    expect(html).toContain('<th class="align-center">a</th>');
    expect(html).toContain('<td class="align-right"><s>2</s></td>');
    expect(html).not.toContain('style');
  });

  it('shows HTML as text', async () => {
    expect(await render('a <b>bold</b> &amp; <!-- hidden -->')).toBe(
      '<p dir="auto">a &lt;b&gt;bold&lt;/b&gt; &amp; &lt;!-- hidden --&gt;</p>\n',
    );
  });

  it('shows tasks as boxes with a label, which nobody can tick', async () => {
    expect(await render('- [ ] sand\n- [x] *varnish*')).toContain(
      '<li class="task"><label><input type="checkbox" disabled="disabled" /> sand</label></li>\n' +
        '<li class="task"><label><input type="checkbox" disabled="disabled" checked="checked" /> <em>varnish</em></label></li>',
    );
  });

  it('links notes both ways, under ids that no other text has', async () => {
    const source = 'One[^a], again[^a].\n\n[^a]: The *note*.';
    const [first, second] = [await render(source), await render(source)];
    const ids = [...first.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!);
    expect(ids).toHaveLength(3);
    for (const id of ids) {
      expect(first).toContain(`href="#${id}"`);
      expect(second).not.toContain(id);
    }
  });

  it('closes spoilers, words and blocks, until they are opened', async () => {
    expect(await render('He ||really *dies*|| there || and || .')).toBe(
      '<div dir="auto">He <details class="spoiler words"><summary>Spoiler</summary>really <em>dies</em></details> there <details class="spoiler words"><summary>Spoiler</summary> and </details> .</div>\n',
    );
    expect(await render(':::spoiler The <end>\n- He dies\n:::\n\n|| || a')).toBe(
      '<details dir="auto" class="spoiler"><summary>The &lt;end&gt;</summary>\n<ul>\n<li>He dies</li>\n</ul>\n</details>\n<p dir="auto">|| || a</p>\n',
    );
  });
});

describe('a link', () => {
  it('to another host tells search engines not to count it', async () => {
    expect(await render('[x](https://other.example/y)')).toContain(
      '<a href="https://other.example/y" rel="nofollow ugc noopener">x</a>',
    );
  });

  it('to this site is an ordinary one', async () => {
    expect(await render('[x](/d/3#p2) [y](http://localhost:3000/d/4) <z@other.example>')).toContain(
      '<a href="/d/3#p2">x</a> <a href="http://localhost:3000/d/4">y</a> <a href="mailto:z@other.example">z@other.example</a>',
    );
  });

  it('is made of a bare address, but not of a file name', async () => {
    const html = await render('see https://other.example/a_b. and README.md');
    expect(html).toContain('href="https://other.example/a_b"');
    expect(html.match(/<a /g)).toHaveLength(1);
  });

  it('is made of a mention, without the sentence’s full stop', async () => {
    expect(await render('Ask @mira.k. Or (@Otto)!')).toContain(
      'Ask <a href="/u/mira.k" class="mention">@mira.k</a>. Or (<a href="/u/Otto" class="mention">@Otto</a>)!',
    );
  });

  it('is not made of what only looks like a mention', async () => {
    expect(
      await render('`@code` [@label](/x) https://other.example/@name a@b.example @x @../up @zoéline'),
    ).not.toContain('/u/');
  });
});

describe('a picture', () => {
  it('of this site or an allowed host is shown, when it comes into view', async () => {
    expect(await render('![A scarf joint](/uploads/1/a.png "t")')).toContain(
      '<img src="/uploads/1/a.png" alt="A scarf joint" title="t" loading="lazy" decoding="async" />',
    );
    expect(await render('![x](https://pictures.example/a.png)')).toContain('<img src="https://pictures.example/a.png"');
  });

  it.each([
    '/uploads/1/a.png',
    '/assets/a.png',
    'http://localhost:3000/uploads/1/a.png',
    '/api/../uploads/1/a.png',
    'https://pictures.example/a.png',
  ])('may come from %s', async (address) => {
    expect(await render(`![x](<${address}>)`)).toMatch(/<img src="[^"]*(?:uploads|assets|pictures)/);
  });

  it.each([
    '/api/discussions?x=?&offset=100000',
    '/a.png',
    '/logout',
    '/uploads',
    '/uploadsx/a.png',
    '/Uploads/1/a.png',
    '/uploads/../api/x',
    '/uploads/%2e%2e/api/x',
    '/uploads/.%2E/api/x',
    '/uploads/..%2fapi/x',
    '/uploads/%252e%252e/api/x',
    '/uploads/..\\api\\x',
    '/uploads\\..\\api/x',
    '/assets/./../api/x',
    '/\tapi/x',
    '/uploads/.\t./api/x',
    'http://localhost:3000/api/x',
    'HTTP://LOCALHOST:3000/api/x',
    'http://localhost:3000/uploads/../api/x',
    'http://localhost:3000/uploads/%2E%2e/api/x',
    'http://user@localhost:3000/uploads/1/a.png',
    '//localhost:3000/api/x',
    '/\\localhost:3000/api/x',
    'http://pictures.example/a.png',
    'https://pictures.example:444/a.png',
  ])('never comes from %j, written or added by a plugin', async (address) => {
    expect(await render(`![x](<${address}>)`)).not.toContain('<img');
    expect(createSanitiser(rules)(`<img src="${address}">`)).toBe('');
  });

  it('of a route of this site is a link under its description', async () => {
    expect(await render('![list](/api/discussions?x=1)')).toBe(
      '<p dir="auto"><a href="/api/discussions?x=1">list</a></p>\n',
    );
  });

  it('of any other host is a link under its description, so that nobody is counted by it', async () => {
    expect(await render('![Pixel](https://other.example/p.gif)')).toBe(
      '<p dir="auto"><a href="https://other.example/p.gif" rel="nofollow ugc noopener">Pixel</a></p>\n',
    );
    expect(await render('[![Pixel](https://other.example/p.gif)](/x)')).toBe(
      '<p dir="auto"><a href="/x">Pixel</a></p>\n',
    );
  });
});

describe('stored HTML from before the rules for pictures', () => {
  const { origin } = rules;
  const judged = (html: string): string => permittedImages(html, origin);

  it('loses the pictures that would call a route of this site, and keeps their descriptions', () => {
    for (const address of [
      '/api/x?a=1&amp;b=2',
      '/a.png',
      'http://localhost:3000/logout',
      '//localhost:3000/api/x',
      '/uploads/../api/x',
      '/uploads/%2e%2e/x',
      '&#x2F;api',
      'http://other.example/a.png',
    ]) {
      expect(judged(`<p>a <img src="${address}" alt="my &lt;list&gt;" loading="lazy" /> b</p>`)).toBe(
        '<p>a my &lt;list&gt; b</p>',
      );
      expect(judged(`<a href="/x"><IMG alt="" src="${address}"></a>`)).toBe(`<a href="/x">${address}</a>`);
    }
    expect(judged('<p><img alt="x"></p>')).toBe('<p>x</p>');
  });

  it('keeps all others as they are, of whatever host', () => {
    for (const address of [
      '/uploads/1/a.png',
      '/assets/a.png',
      'http://localhost:3000/uploads/1/a.png',
      'https://other.example/a.png?a=1&amp;b=2',
    ]) {
      const html = `<p><img src="${address}" alt="a" width="3" height="4" loading="lazy" /></p>`;
      expect(judged(html)).toBe(html);
    }
    expect(judged('<p>&lt;img src="/api/x"&gt;</p>')).toBe('<p>&lt;img src="/api/x"&gt;</p>');
  });
});

describe('rendering', () => {
  it('gives long texts the same result through the worker as short ones on the spot', async () => {
    const line = 'Some *text* with a [link](https://other.example) and @mira.\n\n';
    expect(await render(line.repeat(600))).toBe((await render(line)).repeat(600));
  });

  it('refuses more than 64 KiB, counted in bytes', async () => {
    await expect(render('é'.repeat(32 * 1024))).resolves.toContain('é');
    await expect(render('é'.repeat(32 * 1024) + 'a')).rejects.toMatchObject({
      status: 400,
      details: [{ field: 'content' }],
    });
  });

  it('refuses a text whose definitions multiply', async () => {
    await expect(render(`[a]: /${'x'.repeat(2_000)}\n\n${'[a]'.repeat(20_000)}`)).rejects.toMatchObject({
      status: 400,
    });
  });

  it.each(SWELLING.map((source) => [source.slice(0, 12), source] as const))(
    'refuses to make a large page of %j…',
    async (_, source) => {
      expect(Buffer.byteLength(source)).toBeLessThanOrEqual(64 * 1024);
      await expect(render(source)).rejects.toMatchObject({
        status: 400,
        details: [{ field: 'content', message: expect.stringMatching(/10,000 cells|256 KiB|too intricate/) }],
      });
    },
  );

  it.each(REPEATING.map((source) => [source.slice(0, 12), source] as const))(
    'bounds what it makes of %j repeated',
    async (_, source) => {
      const [result] = await Promise.allSettled([render(source)]);
      const html = result.status === 'fulfilled' ? result.value : '';
      expect(Buffer.byteLength(html)).toBeLessThanOrEqual(256 * 1024);
      expect(result).toMatchObject(
        result.status === 'fulfilled' ? {} : { reason: { status: 400, details: [{ field: 'content' }] } },
      );
    },
  );

  describe('takes no time out of proportion', () => {
    const thread = new RenderThread(rules);
    /** Milliseconds of processor time; the least of some, since a busy machine makes even that longer. */
    const took = async (text: string): Promise<number> => {
      const times: number[] = [];
      for (let time = 0; time < 3; time++) {
        const budget = { left: 10_000 };
        await thread.run({ step: 'parse', text }, budget);
        times.push(10_000 - budget.left);
      }
      return Math.min(...times);
    };
    let ordinary: number;
    beforeAll(async () => void (ordinary = await took(ORDINARY)));
    afterAll(() => thread.close());

    it.each(SEARCHING.map((source) => [source.slice(0, 12), source] as const))(
      'for a text that begins with %j',
      async (_, text) => expect((await took(text)) / ordinary).toBeLessThan(20),
    );
  });

  it.each(SLOW_CODE.map((source) => [source.slice(0, 20), source] as const))(
    'shows code that is hard to colour, in bounded time and size: %j…',
    async (_, source) => {
      const begun = process.cpuUsage();
      const html = await render(source);
      // Of the processor, with all threads: the clock goes on while a busy machine does something else.
      const { user, system } = process.cpuUsage(begun);
      expect((user + system) / 1_000).toBeLessThan(4_000);
      expect(html).toContain('<pre');
      expect(Buffer.byteLength(html)).toBeLessThanOrEqual(256 * 1024);
    },
  );

  it('takes tables as large as people make them', async () => {
    const rows = `| one | two | three | four |\n|-|-|-|-|\n${'| a cell | 12 | 34 | 56 |\n'.repeat(1_000)}`;
    expect((await render(rows)).match(/<tr>/g)).toHaveLength(1_001);
  });

  it('refuses a short text that grows out of proportion like a long one', async () => {
    await expect(render(`[a]: http://b.cd/${'x'.repeat(1_000)}\n\n${'[a] '.repeat(255)}`)).rejects.toMatchObject({
      status: 400,
      details: [{ field: 'content' }],
    });
  });

  it('gives up on what takes too long, and goes on with the next text', async () => {
    const thread = new RenderThread(rules);
    const slow = thread.run({ step: 'parse', text: '*never* finished in a moment\n\n'.repeat(50_000) }, { left: 1 });
    const next = thread.run({ step: 'parse', text: 'next' }, { left: 10_000 });
    await expect(slow).rejects.toMatchObject({ status: 400 });
    await expect(next).resolves.toContain('next');
    await thread.close();
  });

  it('holds nothing against a text that the machine did meanwhile', async () => {
    const thread = new RenderThread(rules);
    const text = 'word *and* word\n\n'.repeat(8_000);
    await thread.run({ step: 'parse', text }, { left: 10_000 });
    const quiet = { left: 10_000 };
    await thread.run({ step: 'parse', text }, quiet);
    const others = Array.from({ length: 8 * availableParallelism() }, () => new Worker('for (;;);', { eval: true }));
    try {
      await Promise.all(others.map((other) => once(other, 'online')));
      const begun = performance.now();
      const budget = { left: 3 * (10_000 - quiet.left) };
      await expect(thread.run({ step: 'parse', text }, { ...budget })).resolves.toContain('<em>and</em>');
      expect(performance.now() - begun).toBeGreaterThan(budget.left);
    } finally {
      await Promise.all([thread.close(), ...others.map((other) => other.terminate())]);
    }
  });

  it('gives up by the clock where the time of the thread cannot be read', async () => {
    const thread = new RenderThread(rules);
    const unknown = vi.spyOn(Worker.prototype, 'cpuUsage').mockReturnValue(new Promise(() => {}));
    const slow = thread.run({ step: 'parse', text: '*never* finished in a moment\n\n'.repeat(50_000) }, { left: 1 });
    await expect(slow).rejects.toMatchObject({ status: 400 });
    unknown.mockRestore();
    await thread.close();
  });

  it('never gives a text the result of the one before it that took too long', async () => {
    const thread = new RenderThread(rules);
    // About as long as the time it has, so that the result is sometimes on its way when the time is over.
    const text = 'first *and* last\n\n'.repeat(200);
    await thread.run({ step: 'parse', text }, { left: 10_000 });
    for (let round = 0; round < 8; round++) {
      const [first, second] = await Promise.allSettled([
        thread.run({ step: 'parse', text }, { left: 1 + (round % 5) }),
        thread.run({ step: 'parse', text: `round ${round}` }, { left: 10_000 }),
      ]);
      expect(first.status === 'fulfilled' ? first.value.slice(0, 21) : first.reason.status).toBeOneOf([
        '<p dir="auto">first <',
        400,
      ]);
      expect(second).toEqual({ status: 'fulfilled', value: `<p dir="auto">round ${round}</p>\n` });
    }
    await thread.close();
  });

  it('counts the time of all steps of a text together', async () => {
    const thread = new RenderThread(rules);
    const time = { left: 10_000 };
    await thread.run({ step: 'parse', text: 'one *and* two\n\n'.repeat(2_000) }, time);
    const afterOne = time.left;
    await thread.run({ step: 'parse', text: 'one *and* two\n\n'.repeat(2_000) }, time);
    expect(afterOne).toBeLessThan(10_000);
    expect(time.left).toBeLessThan(afterOne);
    await thread.close();
  });

  it('ends its thread when nobody has needed it for a while, and starts another', async () => {
    const thread = new RenderThread(rules, 20);
    expect(await thread.run({ step: 'parse', text: 'one' }, { left: 10_000 })).toContain('one');
    expect(thread.running).toBe(true);
    await expect.poll(() => thread.running).toBe(false);
    expect(await thread.run({ step: 'parse', text: 'two' }, { left: 10_000 })).toContain('two');
    await thread.close();
  });

  it('sanitises what other plugins add', async () => {
    const decorated = new Renderer(
      rules,
      async (html) => `${html}<span class="code-string evil" onclick="x()">ok</span><script>x()</script>`,
    );
    expect(await decorated.render('a')).toBe('<p dir="auto">a</p>\n<span class="code-string">ok</span>');
    await decorated.close();
  });
});

describe('an excerpt', () => {
  it('is the words alone', () => {
    expect(
      renderer.excerpt('# Title\n\nSome **bold** [link](/x) and\n`code`.\n\n```\nhidden\n```\n![Alt](/a.png)', 200),
    ).toBe('Title Some bold link and code. Alt');
  });

  it.each([
    ['One two,\n  three (four):\n\n“five”; six – 7.5 %!', 'One two, three (four): “five”; six – 7.5 %!'],
    ['Title\n=====\ntext', 'Title text'],
    ['Title\n---\ntext', 'Title text'],
    ['First\n\n  2) second\n  - third\n  + fourth', 'First second third fourth'],
    ['Before\n\n\thidden code\n\nafter', 'Before after'],
    ['Before\n\n    hidden code\n\nafter', 'Before after'],
    ['3 &lt; 4 \\* 5', '3 < 4 * 5'],
    [':::spoiler End\nhidden\n:::', '…'],
  ])('of %j is %j', (source, words) => {
    expect(renderer.excerpt(source, 200)).toBe(words);
  });

  it('never tells what a spoiler hides', () => {
    expect(renderer.excerpt('So ||he dies|| then.\n\n:::spoiler End\nAll die.\n:::\n\nBye', 200)).toBe(
      'So … then. … Bye',
    );
  });

  it.each([
    ['words', `So ||he dies ${'and dies '.repeat(200)}|| then.`, 'So …'],
    ['words amid marks', `${'*a* '.repeat(20)}||he dies ${'and dies '.repeat(20)}|| then.`, `${'a '.repeat(20)}…`],
    ['words, cut within their first mark', `${'word '.repeat(10)}${'_'.repeat(49)}||he dies|| ${'w '.repeat(500)}`, ''],
    ['a block', `So\n\n:::spoiler\n${'He dies. '.repeat(200)}\n:::`, 'So …'],
    [
      'words before too large a table',
      `So ||he dies|| then.\n\n${'|a'.repeat(50)}\n${'|-'.repeat(50)}\n${'|\n'.repeat(500)}`,
      'So …',
    ],
    [
      'a block before too large a table',
      `So\n\n:::spoiler\nHe dies.\n:::\n\n${'|a'.repeat(50)}\n${'|-'.repeat(50)}\n${'|\n'.repeat(500)}`,
      'So …',
    ],
    ['words of a list', `- So\n- ||he dies ${'and dies '.repeat(200)}||`, 'So …'],
    ['words of a quotation', `> So ||he\n> dies ${'and dies '.repeat(200)}||`, 'So …'],
  ])('never tells the beginning of a spoiler whose end it does not reach: %s', (_kind, source, words) => {
    const excerpt = renderer.excerpt(source, 100);
    expect([excerpt.includes('dies'), excerpt.startsWith(words)]).toEqual([false, true]);
  });

  it('of a long text keeps a bar that hides nothing', () => {
    expect(renderer.excerpt(`a | b\n\n${'c '.repeat(700)}`, 20)).toBe('a | b c c c c c c…');
  });

  it('takes no time out of proportion, whatever the text begins with', () => {
    const least = (text: string): number => {
      const took = Array.from({ length: 5 }, () => {
        const before = performance.now();
        for (let n = 0; n < 100; n++) renderer.excerpt(`${n}${text}`, 280);
        return performance.now() - before;
      });
      return Math.min(...took);
    };
    const ordinary = least(ORDINARY);
    for (const piece of ['a@b.c ', '[', '![', '[^', '[a\n', '*a_b', '<http://a>', 'http://a.b/(', '- [ ] a\n'])
      expect([piece, least(piece.repeat(300)) < 12 * ordinary]).toEqual([piece, true]);
  });

  it('ends at a word, within its length', () => {
    const text = renderer.excerpt('alpha beta gamma delta epsilon', 18);
    expect(text).toBe('alpha beta gamma…');
    expect(renderer.excerpt('😀'.repeat(40), 10)).toBe('😀😀😀😀…');
  });

  it('of a table of thousands of cells is its source, so that it takes no time', () => {
    const table = `${'|a'.repeat(50)}\n${'|-'.repeat(50)}\n${'|\n'.repeat(198)}`;
    expect(renderer.excerpt(table, 50)).toMatch(/^[|a]+/);
    expect(renderer.excerpt('|a|b|\n|-|-|\n|c|d|', 50)).toBe('a b c d');
  });

  it('does not read more of a long text than it needs', () => {
    expect(renderer.excerpt('word '.repeat(200_000), 100).length).toBeLessThanOrEqual(100);
  });
});
