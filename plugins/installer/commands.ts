import { commandLine, defineCommand, Environment, secretOption, Type } from 'parley-forum';
import { Installer } from 'parley-forum/plugins/installer';

/** Installs without a browser. */
export const install = defineCommand({
  name: 'install',
  summary: 'Installs a forum in an empty database: an administrator, the first categories, a name.',
  example: 'install --admin-username ada --admin-email ada@example.org --site-name "The slipway"',
  options: Type.Object({
    'admin-username': Type.String({ description: 'Username of the first administrator' }),
    'admin-email': Type.String({ description: 'Their e-mail address' }),
    'admin-password': Type.Optional(
      Type.String({
        description:
          'Their password: at least 10 characters, with upper and lower case letters, a digit and a symbol; prompted for if omitted, and "-" reads it from standard input',
      }),
    ),
    'site-name': Type.Optional(Type.String({ description: 'The forum’s name' })),
    demo: Type.Boolean({ default: false, description: 'Add realistic members, discussions and posts' }),
  }),
  needs: { installer: Installer, environment: Environment },
  async run({ installer, environment }, options, console) {
    const {
      'admin-username': username,
      'admin-email': email,
      'admin-password': given,
      'site-name': siteName,
      demo,
    } = options;
    const password = await secretOption(console, 'admin-password', given);
    await installer.install(
      { username, email, password, demo, by: commandLine, ...(siteName !== undefined && { siteName }) },
      (line) => console.progress(line),
    );
    console.print(
      `Installed. Log in as ${username} at ${environment.baseUrl}/login; if the server is not running yet, start it first: npm start`,
    );
  },
});
