import { commandLine, defineCommand, Environment, secretOption, Type } from 'parley-forum';
import { Installer } from 'parley-forum/plugins/installer';

/** Installs without a browser. */
export const install = defineCommand({
  name: 'install',
  summary: 'Makes a forum of an empty database: an administrator, first categories, a name.',
  example: 'install --admin-username ada --admin-email ada@example.org --site-name "The slipway"',
  options: Type.Object({
    'admin-username': Type.String({ description: 'The first administrator’s name' }),
    'admin-email': Type.String({ description: 'Their e-mail address' }),
    'admin-password': Type.Optional(
      Type.String({
        description:
          'Their password: 10 characters or more, with upper and lower case, a digit and a sign; left out, it is asked for, and "-" reads it from standard input',
      }),
    ),
    'site-name': Type.Optional(Type.String({ description: 'What the forum is called' })),
    demo: Type.Boolean({ default: false, description: 'Add lifelike members, discussions and posts' }),
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
    console.print(`Installed. Start with "npm start", then log in as ${username} at ${environment.baseUrl}/login`);
  },
});
