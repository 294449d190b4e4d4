import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Check } from '../support/check.ts';
import { countLines, readFiles, type SourceFile } from '../support/files.ts';
import { compile } from '../types.ts';

/** A TypeScript code block in a document. */
interface Snippet {
  readonly document: string;
  /** Line number in the document before the snippet's first line. */
  readonly line: number;
  /** The path in the comment on its first line: `// plugins/polls/api.ts`. Later snippets may import it from there. */
  readonly file: string;
  readonly text: string;
}

const FENCE = /^```ts\n([\s\S]*?)^```$/gm;
const PLACE = /^\/\/ ([\w./-]+\.ts)\n/;

/** Code blocks in the README and the guide must compile as they stand, so that readers can copy them. */
export const snippets: Check = {
  name: 'snippets',
  async run(root) {
    const readme = join(root, 'README.md');
    const documents: readonly SourceFile[] = [
      ...(existsSync(readme) ? [{ path: 'README.md', text: readFileSync(readme, 'utf8') }] : []),
      ...readFiles(root, ['docs/guide'], /\.md$/),
    ];
    const found = await Promise.all(documents.map(async (document) => compileSnippets(root, snippetsOf(document))));
    return found.flat();
  },
};

function snippetsOf({ path, text }: SourceFile): readonly Snippet[] {
  return [...text.matchAll(FENCE)].map((match, index) => {
    const body = match[1] ?? '';
    return {
      document: path,
      line: countLines(text.slice(0, match.index)) + 1,
      file: PLACE.exec(body)?.[1] ?? `snippet-${index + 1}.ts`,
      text: body,
    };
  });
}

/** The snippets of a document are compiled as one project; everything else they import comes from the repository. */
async function compileSnippets(root: string, all: readonly Snippet[]): Promise<readonly string[]> {
  if (all.length === 0) return [];
  const folder = mkdtempSync(join(tmpdir(), 'parley-snippets-'));
  try {
    for (const snippet of all) {
      const file = join(folder, snippet.file);
      mkdirSync(dirname(file), { recursive: true });
      // `export {}` turns a snippet without imports into a module, so that names in different snippets do not collide.
      writeFileSync(file, `${snippet.text}export {};\n`);
    }
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project(root, all)));
    symlinkSync(resolve(import.meta.dirname, '../../../../node_modules'), join(folder, 'node_modules'));
    return (await compile(folder, 'tsconfig.json'))
      .map((line) => inDocument(line, all))
      .filter((line) => line !== undefined);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const project = (root: string, all: readonly Snippet[]): object => ({
  extends: resolve(root, 'tsconfig.json'),
  compilerOptions: {
    noUnusedLocals: false,
    paths: {
      'parley-forum': [resolve(root, 'core/index.ts')],
      'parley-forum/testing': [resolve(root, 'test/kit/index.ts')],
      'parley-forum/ports/*': [resolve(root, 'plugins/ports/*.ts')],
      'parley-forum/plugins/*': ['./plugins/*/api.ts', resolve(root, 'plugins/*/api.ts')],
    },
  },
  include: [],
  exclude: [],
  files: all.map(({ file }) => file),
});

/**
 * Maps a compiler error to its line in the document; undefined for one in the repository's own files, which another
 * check reports.
 */
function inDocument(complaint: string, all: readonly Snippet[]): string | undefined {
  const match = /^(.*)\((\d+),\d+\): (.*)$/.exec(complaint);
  if (!match) return complaint;
  const [, file, line, message] = match;
  const snippet = all.find((one) => one.file === file);
  return snippet && `${snippet.document}:${snippet.line + Number(line)}: ${message}`;
}
