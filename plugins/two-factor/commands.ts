import { commandLine, ConfigurationError, defineCommand, Type } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { TwoFactor } from 'parley-forum/plugins/two-factor';

const resetTwoFactor = defineCommand({
  name: 'user reset-two-factor',
  summary: 'Switches off the second factor of a member who has lost it.',
  example: 'user reset-two-factor ada',
  positional: ['name'],
  options: Type.Object({ name: Type.String({ title: 'Username' }) }),
  needs: { accounts: Accounts, twoFactor: TwoFactor },
  async run({ accounts, twoFactor }, { name }, console) {
    const account = await accounts.findByIdentifier(name);
    if (!account) throw new ConfigurationError(`There is no member "${name}"`);
    const done = await twoFactor.reset(account.id, commandLine);
    console.print(
      done ? `${account.username} logs in with the password alone now.` : `${account.username} has no second factor.`,
    );
  },
});

export const commands = [resetTwoFactor] as const;
