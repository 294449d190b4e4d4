import { commandLine, defineCommand, Environment, RUN, Secrets, Type } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Seeder } from 'parley-forum/plugins/demo';
import { Installer } from 'parley-forum/plugins/installer';
import { readContent } from './content.ts';
import { createLogins, loginNames, memberEmail } from './logins.ts';

const demo = defineCommand({
  name: 'demo',
  summary: 'Installs a forum with realistic content if nothing is installed yet, and prints the logins.',
  options: Type.Object({}),
  needs: { installer: Installer, accounts: Accounts, secrets: Secrets, environment: Environment },
  async run({ installer, accounts, secrets, environment }, _options, console) {
    const logins = createLogins(secrets);
    if (!installer.installed) {
      const admin = (await readContent()).members.find(({ username }) => username === loginNames[0])!;
      const joinedAt = new Date(Date.now() - admin.joined_days_ago * 86_400_000);
      const { username, bio } = admin;
      await installer.install(
        {
          username,
          email: memberEmail(username),
          password: logins.password(username),
          siteName: 'The Slipway',
          demo: true,
          bio,
          joinedAt,
          by: commandLine,
        },
        (line) => console.progress(line),
      );
    }
    const found = (await Promise.all(loginNames.map((name) => accounts.findByIdentifier(name)))).filter(
      (account) => account?.email === memberEmail(account?.username ?? ''),
    );
    if (found.length === 0)
      return console.print(`A forum without the demo logins is already installed: ${environment.baseUrl}`);
    console.print(`\n  ${environment.baseUrl}\n`);
    for (const account of found)
      console.print(`  ${account!.username.padEnd(8)}  ${logins.password(account!.username)}   ${account!.groupId}`);
    console.print(
      `\n  (unless these passwords, or the root key from which they are derived, were changed since; ${RUN} user reset-password sets another)\n`,
    );
  },
});

const seedCommand = defineCommand({
  name: 'seed',
  summary: 'Adds generated members, discussions and posts, to test a forum under load.',
  example: 'seed --discussions 100000 --posts 1000000 --users 20000',
  options: Type.Object({
    discussions: Type.Integer({ default: 100, minimum: 0, maximum: 10_000_000, description: 'Number of discussions' }),
    posts: Type.Integer({
      default: 1_000,
      minimum: 0,
      maximum: 100_000_000,
      description: 'Total number of posts, including the first post of each discussion',
    }),
    users: Type.Integer({
      default: 50,
      minimum: 1,
      maximum: 1_000_000,
      description: 'Number of members who write them',
    }),
  }),
  needs: { seeder: Seeder },
  run: ({ seeder }, options, console) => seeder.seed(options, console),
});

/** `demo` and `seed`. */
export const commands = [demo, seedCommand] as const;
