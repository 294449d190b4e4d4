import { setImmediate as turn } from 'node:timers/promises';
import { InvalidInput } from 'parley-forum';
import type { Importer } from 'parley-forum/plugins/discussions';
import type { Discussion } from './records.ts';

/** Number of posts rendered concurrently: enough to keep the renderer busy. */
const AT_ONCE = 16;

/** The texts of a discussion as they are stored and shown. Throws 400 naming one that is not acceptable. */
export async function acceptedTexts(
  { title, posts }: Pick<Discussion, 'title' | 'posts'>,
  importer: Pick<Importer, 'acceptTitle' | 'acceptContent'>,
): Promise<{ readonly title: string; readonly texts: readonly Awaited<ReturnType<Importer['acceptContent']>>[] }> {
  const texts: Awaited<ReturnType<Importer['acceptContent']>>[] = [];
  for (let from = 0; from < posts.length; from += AT_ONCE) {
    const some = posts.slice(from, from + AT_ONCE);
    texts.push(
      ...(await Promise.all(
        some.map(({ content }, at) => named(`posts.${from + at}`, () => importer.acceptContent(content))),
      )),
    );
    // Short texts are rendered on the main thread: yield to the event loop so that other requests do not have to wait
    // for all of them.
    await turn();
  }
  return { title: importer.acceptTitle(title), texts };
}

async function named<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw new InvalidInput(error.details.map(({ field, message }) => ({ field: `${name}.${field}`, message })));
  }
}
