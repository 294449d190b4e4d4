import { beforeEach, describe, expect, test } from 'vitest';
import { useForum } from '../discussions/forum.ts';

const forum = useForum();
let path: string;
let discussion: string;
beforeEach(async () => {
  ({ id: discussion } = await forum.start('ada', 'Two programs'));
  path = `/api/posts/${(await forum.reply('ada', discussion, 'As it was')).id}`;
});

const tagOf = async (client = forum.as.ada, at = path): Promise<string> => (await client.get(at)).headers.get('etag')!;
const change = (content: string, tag: string, client = forum.as.ada) =>
  client.put(path, { content }, { 'if-match': tag });
const content = async (): Promise<string> => (await forum.guest.get(path)).body.post.content;

describe('a change with If-Match', () => {
  test('is made if GET still returns what the caller read, however the tag is written', async () => {
    expect((await change('First', await tagOf())).status).toBe(200);
    expect((await change('Second', (await tagOf()).replace('W/', ''))).status).toBe(200);
    expect((await change('Third', `"another", ${await tagOf()}`)).status).toBe(200);
    expect((await change('Fourth', '*')).status).toBe(200);
    expect(await content()).toBe('Fourth');
  });

  test('is refused with 412 after someone else’s change, and made after reading again', async () => {
    const seen = await tagOf();
    expect((await forum.as.mia.put(path, { content: 'By a moderator' })).status).toBe(200);
    const refused = await change('Over it', seen);
    expect([refused.status, refused.body]).toMatchObject([412, { success: false, code: 'precondition_failed' }]);
    expect(await content()).toBe('By a moderator');
    expect((await change('After it', await tagOf())).status).toBe(200);
    expect(await content()).toBe('After it');
  });

  test('is made once if several based on the same read arrive at once', async () => {
    const seen = await tagOf();
    const texts = ['One', 'Two', 'Three', 'Four', 'Five'];
    const answers = await Promise.all(texts.map((text) => change(text, seen)));
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(4);
    expect(await content()).toBe(texts[answers.findIndex(({ status }) => status === 200)]);
  });

  test('deletes nothing that was changed meanwhile', async () => {
    const seen = await tagOf();
    await change('Changed', '*');
    expect((await forum.as.ada.delete(path, { 'if-match': seen })).status).toBe(412);
    expect((await forum.guest.get(path)).status).toBe(200);
    expect((await forum.as.ada.delete(path, { 'if-match': await tagOf() })).status).toBe(200);
    expect((await forum.guest.get(path)).status).toBe(404);
  });

  test('does not reveal a right guess to callers who may not see or change the target', async () => {
    const tag = await tagOf(forum.as.bob);
    for (const header of [tag, '"wrong"']) {
      expect((await change('Mine now', header, forum.as.bob)).status).toBe(403);
      expect((await change('Mine now', header, forum.guest)).status).toBe(401);
    }
    expect(await content()).toBe('As it was');
  });

  test('compares the whole discussion, posts included', async () => {
    const at = `/api/discussions/${discussion}`;
    const seen = await tagOf(forum.as.ada, at);
    await forum.reply('bob', discussion, 'One more');
    const rename = (tag: string) => forum.as.ada.put(at, { title: 'One program' }, { 'if-match': tag });
    expect((await rename(seen)).status).toBe(412);
    expect((await rename(await tagOf(forum.as.ada, at))).status).toBe(200);
  });

  test('never matches where the path cannot be read', async () => {
    const form = new FormData();
    form.set('file', new Blob(['A list of boats'], { type: 'text/plain' }), 'boats.txt');
    const { upload } = (await forum.as.ada.request('POST', '/api/uploads', { body: form })).body;
    const at = `/api/uploads/${upload.id}`;
    const refused = await forum.as.ada.delete(at, { 'if-match': '*' });
    expect([refused.status, refused.body.code]).toEqual([412, 'precondition_failed']);
    expect((await forum.as.ada.delete(at)).status).toBe(200);
  });
});
