import { resolve } from 'node:path';
import { ConfigurationError, defineCommand, Type, type Console } from 'parley-forum';
import { CommunityImport, type ImportedAmounts } from 'parley-forum/plugins/imports';

const importCommand = defineCommand({
  name: 'import',
  summary: 'Imports the members, categories and discussions of another forum from a file.',
  example: 'import ../old-forum.jsonl --check',
  positional: ['file'],
  options: Type.Object({
    file: Type.String({ minLength: 1, description: 'JSON Lines, as described in the guide to moving a forum' }),
    check: Type.Boolean({ default: false, title: 'Only check whether everything can be imported' }),
  }),
  needs: { imports: CommunityImport },
  async run({ imports }, { file, check }, console) {
    const path = resolve(file);
    if (check) await lookThrough(imports, path, console);
    // The file is checked against existing records, so nothing may change between the check and the import.
    else await imports.exclusively(() => bring(imports, path, console));
  },
});

/** Resolves to the number of records in the file. Throws if not all of them can be imported. */
async function lookThrough(imports: CommunityImport, path: string, console: Console): Promise<ImportedAmounts> {
  const { amounts, problems } = await imports.check(path);
  for (const problem of problems) console.print(problem);
  if (problems.length > 0) throw new ConfigurationError(`${path} cannot be imported as it is; nothing was written`);
  const { members, categories, discussions, posts } = amounts;
  console.print(
    `${path}: ${members} members, ${categories} categories, ${discussions} discussions with ${posts} posts`,
  );
  return amounts;
}

async function bring(imports: CommunityImport, path: string, console: Console): Promise<void> {
  const amounts = await lookThrough(imports, path, console);
  const fresh = await imports.bring(path, amounts, console);
  const known = amounts.discussions - fresh.discussions;
  console.print(
    `Imported ${fresh.discussions} discussions with ${fresh.posts} posts${known > 0 ? `; skipped ${known} discussions whose ids were imported before` : ''}.`,
  );
}

/** The command `import`. */
export const commands = [importCommand] as const;
