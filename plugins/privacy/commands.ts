import { commandLine, ConfigurationError, defineCommand, HttpError, Type } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Deletions } from 'parley-forum/ports/personal-data';

const deleteUser = defineCommand({
  name: 'user delete',
  summary: 'Deletes a member immediately; what they wrote stays, without their name.',
  example: 'user delete ada --remove',
  positional: ['name'],
  options: Type.Object({
    name: Type.String({ title: 'Username' }),
    remove: Type.Boolean({ default: false, title: 'Also delete what they wrote' }),
  }),
  needs: { accounts: Accounts, deletions: Deletions },
  async run({ accounts, deletions }, { name, remove }, console) {
    const account = await accounts.findByIdentifier(name);
    if (!account) throw new ConfigurationError(`There is no member "${name}"`);
    try {
      await deletions.erase(account.id, remove ? 'remove' : 'anonymise', commandLine);
    } catch (error) {
      throw error instanceof HttpError ? new ConfigurationError(error.message, { cause: error }) : error;
    }
    console.print(`${account.username} was deleted${remove ? ', with everything they wrote' : ''}.`);
  },
});

export const commands = [deleteUser] as const;
