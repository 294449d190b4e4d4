import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { defineCommand, type Console } from '../command.ts';
import { ConfigurationError } from '../../errors.ts';
import { Type } from '../../schema.ts';
import { RUN } from '../help.ts';
import { ROOT } from '../../host/root.ts';

/** A real plugin about polls. Its files end in `.txt` so that no tool takes them for code of this program. */
const TEMPLATE = join(import.meta.dirname, '../template');

/** The ways a plugin's name is written in its files, in the order in which they are looked for. */
function spellings(id: string): readonly (readonly [RegExp, string])[] {
  const words = id.split('-');
  const capital = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
  const camel = capital[0]!.toLowerCase() + capital.slice(1);
  const label = capital[0] + words.join(' ').slice(1);
  return [
    [/__Label__/g, label],
    [/__Capital__/g, capital],
    [/__camel__/g, camel],
    [/__table__/g, words.join('_')],
    [/__id__/g, id],
  ];
}

const filled = (text: string, id: string): string =>
  spellings(id).reduce((filling, [pattern, spelling]) => filling.replace(pattern, spelling), text);

/**
 * Writes the files of a new plugin below `root` and puts its id into config/forum.ts. Throws before it writes anything
 * when the id will not do.
 */
export async function scaffold(root: string, id: string, console: Pick<Console, 'print'>): Promise<void> {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(id))
    throw new ConfigurationError(
      `"${id}" will not do as an id: use lower-case words joined by "-", such as polls or star-charts`,
    );
  const taken = [`plugins/${id}`, `migrations/${id}`, `test/plugins/${id}`].find((folder) =>
    existsSync(join(root, folder)),
  );
  if (taken) throw new ConfigurationError(`${taken} exists already; choose another id`);
  const configuration = join(root, 'config/forum.ts');
  const before = await readFile(configuration, 'utf8');
  const after = before.replace(
    /(plugins:\s*\[)([^\]]*?),?(\s*)\]/,
    (_all, open: string, list: string, space: string) =>
      // A list of lines gets a line, as deep as its first one.
      `${open}${list},${space === '' ? ' ' : (/^\s+/.exec(list)?.[0] ?? ' ')}'${id}'${space === '' ? '' : ','}${space}]`,
  );
  if (after === before)
    throw new ConfigurationError(`config/forum.ts has no list \`plugins: [ … ]\` to add "${id}" to; add one`);

  const names = await readdir(TEMPLATE, { recursive: true });
  for (const name of names.filter((one) => one.endsWith('.txt')).sort()) {
    const path = filled(name.slice(0, -'.txt'.length), id);
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), filled(await readFile(join(TEMPLATE, name), 'utf8'), id), { flag: 'wx' });
    console.print(`wrote ${path}`);
  }
  await writeFile(configuration, after);
  console.print(`added '${id}' to config/forum.ts`);
}

/**
 * In a process of its own, which reads the configuration with the new plugin in it. Where the project's tools are not
 * installed, says how.
 */
async function writeReference(root: string, console: Pick<Console, 'print'>): Promise<void> {
  const script =
    "const { writeReference } = await import('./config/tools/reference.ts'); await writeReference(process.cwd());";
  const done = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: root,
  }).then(
    () => true,
    () => false,
  );
  console.print(
    done
      ? 'wrote docs/reference anew'
      : 'docs/reference does not know the plugin yet; write it anew with: npm run check -- --write',
  );
}

/** Needs no data, so it works beside a running server; the server loads the plugin when it is started anew. */
export const pluginNew = defineCommand({
  name: 'plugin new',
  summary: 'Writes a small working plugin to begin from, with its test.',
  example: 'plugin new polls',
  positional: ['id'],
  options: Type.Object({ id: Type.String({ description: 'Lower-case words joined by "-"; also the folder’s name' }) }),
  async run(_services, { id }, console) {
    await scaffold(ROOT, id, console);
    await writeReference(ROOT, console);
    console.print(
      `\nTry it: npm test -- test/plugins/${id}\nStart the server anew to run it. ${RUN} plugin disable ${id} switches it off again.`,
    );
  },
});
