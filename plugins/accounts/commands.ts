import { commandLine, ConfigurationError, defineCommand, InvalidInput, secretOption, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';

const name = Type.String({ title: 'Username' });
const group = Type.String({ title: 'Id or name of a group' });
const password = Type.Optional(
  Type.String({
    description: 'The new password; if omitted, you are prompted for it; "-" reads it from standard input',
  }),
);

/** Converts an invalid input to a one-line error for the shell. */
async function asConfigurationError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof InvalidInput) throw new ConfigurationError(error.message, { cause: error });
    throw error;
  }
}

function groupId(access: Access, idOrName: string): string {
  const found = access.findGroup(idOrName);
  if (!found)
    throw new ConfigurationError(
      `There is no group "${idOrName}". Groups: ${access
        .groups()
        .map(({ id }) => id)
        .join(', ')}`,
    );
  return found.id;
}

async function accountId(accounts: Accounts, username: string): Promise<string> {
  const account = await accounts.findByIdentifier(username);
  if (!account) throw new ConfigurationError(`There is no member "${username}"`);
  return account.id;
}

const create = defineCommand({
  name: 'user create',
  summary: 'Adds a member.',
  example: 'user create ada --email ada@example.org --group moderator',
  positional: ['name'],
  options: Type.Object({
    name,
    email: Type.String({ title: 'E-mail address' }),
    password,
    group: Type.Optional(group),
  }),
  needs: { accounts: Accounts, access: Access },
  async run({ accounts, access }, options, console) {
    const groupOf = options.group !== undefined && { groupId: groupId(access, options.group) };
    const given = await secretOption(console, 'password', options.password);
    const account = await asConfigurationError(
      accounts.create({ username: options.name, email: options.email, password: given, by: commandLine, ...groupOf }),
    );
    console.print(`Created ${account.username} in the group ${account.groupId}.`);
  },
});

const promote = defineCommand({
  name: 'user promote',
  summary: 'Moves a member to another group, and ends their sessions.',
  example: 'user promote ada --group admin',
  positional: ['name'],
  options: Type.Object({ name, group }),
  needs: { accounts: Accounts, access: Access },
  async run({ accounts, access }, options, console) {
    const id = groupId(access, options.group);
    await accounts.setGroup(await accountId(accounts, options.name), id, commandLine);
    console.print(`${options.name} is now in the group ${id}.`);
  },
});

const resetPassword = defineCommand({
  name: 'user reset-password',
  summary: 'Sets a member’s password, and ends their sessions.',
  example: 'user reset-password ada',
  positional: ['name'],
  options: Type.Object({ name, password }),
  needs: { accounts: Accounts },
  async run({ accounts }, options, console) {
    const id = await accountId(accounts, options.name);
    await asConfigurationError(
      accounts.setPassword(id, await secretOption(console, 'password', options.password), commandLine),
    );
    console.print(`The password of ${options.name} is set.`);
  },
});

export const commands = [create, promote, resetPassword] as const;
