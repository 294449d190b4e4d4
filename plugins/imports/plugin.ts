import { Clock, commandLine, Data, definePlugin, exclusively, HttpError } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import { CommunityImport, communityImported } from 'parley-forum/plugins/imports';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { Answers } from 'parley-forum/ports/imports';
import { commands } from './commands.ts';
import { CommunityImporter } from './community-importer.ts';
import { checkFile } from './file-check.ts';
import { ImportStore } from './import-store.ts';

export default definePlugin({
  id: 'imports',
  name: 'Imports',
  version: '1.0.0',
  description: 'Imports the members and discussions of another forum.',
  needs: {
    data: Data,
    clock: Clock,
    accounts: Accounts,
    categories: Categories,
    importer: Importer,
  },
  wants: { answers: Answers },
  provides: { imports: CommunityImport },
  hooks: [communityImported],
  commands,
  setup({ data, clock, answers, ...deps }, plugin) {
    const store = new ImportStore(data);
    plugin.extend(
      auditRules,
      audited(communityImported, ['forum.imported'], (amounts) => ({
        action: 'forum.imported',
        actor: commandLine,
        details: { ...amounts },
      })),
    );
    return {
      imports: {
        exclusively: (work) => exclusively(data, 'imports:import', busy, work),
        check: (path) => checkFile(path, { categories: deps.categories, importer: deps.importer, now: clock.now() }),
        async bring(path, amounts, console) {
          await plugin.emit(communityImported, amounts);
          return new CommunityImporter({ ...deps, store, answers }).run(path, console);
        },
      },
    };
  },
});

const busy = (): HttpError =>
  new HttpError(409, 'Another import is running on this forum; nothing was written. Wait until it has finished');
