import { ConfigurationError, defineCommand, Type } from 'parley-forum';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import { Identities, type LinkedIdentity } from 'parley-forum/plugins/single-sign-on';

const name = Type.String({ title: 'Username' });

async function find(accounts: Accounts, username: string): Promise<Account> {
  const account = await accounts.findByIdentifier(username);
  if (!account) throw new ConfigurationError(`There is no member "${username}"`);
  return account;
}

const dayOf = (time: Date): string => time.toISOString().slice(0, 10);
const lineOf = ({ slug, label, active, linkedAt, usedAt }: LinkedIdentity): string =>
  [
    label === null ? slug : `${slug}: ${label}`,
    `linked ${dayOf(linkedAt)}`,
    usedAt ? `last used ${dayOf(usedAt)}` : 'not used yet',
    ...(active ? [] : ['the provider is off']),
  ].join(', ');

const list = defineCommand({
  name: 'identity list',
  summary: 'Lists the accounts at identity providers that a member logs in with.',
  example: 'identity list ada',
  positional: ['name'],
  options: Type.Object({ name }),
  needs: { accounts: Accounts, identities: Identities },
  async run({ accounts, identities }, options, console) {
    const account = await find(accounts, options.name);
    const linked = await identities.of(account.id);
    for (const identity of linked) console.print(lineOf(identity));
    if (linked.length === 0) console.print(`${account.username} has no linked accounts.`);
  },
});

const unlink = defineCommand({
  name: 'identity unlink',
  summary: 'Unlinks a member’s account at an identity provider.',
  example: 'identity unlink ada keycloak',
  positional: ['name', 'provider'],
  options: Type.Object({ name, provider: Type.String({ title: 'Short name of the identity provider' }) }),
  needs: { accounts: Accounts, identities: Identities },
  async run({ accounts, identities }, options, console) {
    const account = await find(accounts, options.name);
    await identities.unlink(account.id, options.provider);
    console.print(`${account.username} can no longer log in with ${options.provider}.`);
  },
});

export const commands = [list, unlink] as const;
