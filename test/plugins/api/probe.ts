import { resolve } from 'node:path';
import { Accepted, definePermission, definePlugin, HttpError, Type, type Plugin } from 'parley-forum';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import { api } from 'parley-forum/plugins/api';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { loadPlugins } from '../../../core/host/loader.ts';
import { testLog } from '../../kit/database.ts';

const PASSWORD = 'Correct-horse-7';
const useProbe = definePermission('probe.use', { label: 'use the probe', default: 'member' });
const ruleProbe = definePermission('probe.rule', { label: 'rule the probe', default: 'moderator' });

/** How often each handler ran. */
interface Probe {
  readonly runs: Map<string, number>;
}

/** Routes of every kind, so that the surface can be tested without the rest of the forum. */
const createProbe = (probe: Probe): Plugin =>
  definePlugin({
    id: 'probe',
    settings: Type.Object({ 'probe.rate': Type.Integer({ default: 3 }) }),
    permissions: [useProbe, ruleProbe],
    setup(_services, plugin) {
      const ran = (name: string): number => {
        const count = (probe.runs.get(name) ?? 0) + 1;
        probe.runs.set(name, count);
        return count;
      };
      const Run = Type.Object({ run: Type.Integer() });
      const Name = Type.Object({ name: Type.String({ minLength: 2 }) });

      plugin.route(api, {
        method: 'get',
        path: '/probe/kept',
        can: 'public',
        query: Type.Object({ size: Type.Optional(Type.Integer({ minimum: 1 })) }),
        result: Run,
        cacheTags: () => ['probe'],
      })(() => ({ run: ran('kept') }));
      plugin.route(api, { method: 'get', path: '/probe/long', can: 'public', cacheTags: () => ['probe'] })(() => ({
        text: 'long '.repeat(1_000),
      }));
      plugin.route(api, { method: 'get', path: '/probe/fresh', can: 'public' })(({ actor }) => ({
        run: ran('fresh'),
        who: actor.username ?? null,
      }));
      plugin.route(api, { method: 'get', path: '/probe/time', can: 'public' })(() => ({
        at: new Date('2026-03-04T05:06:07.089Z'),
      }));
      plugin.route(api, { method: 'get', path: '/probe/member', can: useProbe })(({ actor }) => ({
        who: actor.username,
      }));
      plugin.route(api, { method: 'get', path: '/probe/login', can: 'member' })(({ actor }) => ({
        who: actor.username,
      }));
      plugin.route(api, { method: 'get', path: '/probe/broken', can: 'public' })(() => {
        throw new Error('the secret is 1234');
      });
      plugin.route(api, {
        method: 'post',
        path: '/probe/accepted',
        can: 'member',
        status: 201,
        result: Run,
        body: Type.Object({ later: Type.Boolean() }),
        options: { accepted: Type.Object({ waits: Type.Literal(true) }) },
      })(({ body }) => {
        const run = ran('accepted');
        return body.later ? new Accepted({ waits: true }) : { run };
      });
      plugin.route(api, { method: 'get', path: '/probe/away', can: 'public' })(() => {
        throw new Error('query failed', { cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }) });
      });
      plugin.route(api, { method: 'get', path: '/probe/wrong', can: 'public', result: Run })(
        () => ({ run: 'not a number' }) as never,
      );
      plugin.route(api, {
        method: 'get',
        path: '/probe/talkative',
        can: 'public',
        result: Type.Object({ inner: Run }),
      })(() => ({ inner: { run: 1, secret: 'too much' } }) as never);
      plugin.route(api, { method: 'get', path: '/probe/teapot', can: 'public' })(() => {
        throw new HttpError(418, 'No coffee here');
      });
      plugin.route(api, { method: 'post', path: '/probe/heartbeat', can: 'public', body: Name })(({ body }) => body);
      plugin.route(api, {
        method: 'post',
        path: '/probe/optional',
        can: 'public',
        body: Type.Object({ ids: Type.Optional(Type.Array(Type.String())) }),
        options: { csrf: false },
      })(({ body }) => ({ body }));
      plugin.route(api, {
        method: 'post',
        path: '/probe/form',
        can: useProbe,
        body: Type.Object({ name: Type.String(), tags: Type.Optional(Type.Array(Type.String())) }),
        options: { form: true },
        status: 201,
      })(({ body }) => body);
      plugin.route(api, {
        method: 'post',
        path: '/probe/bucket',
        can: 'public',
        options: { csrf: false, bucket: { name: 'probe', window: 60, limit: 'probe.rate' } },
      })(() => ({}));
      plugin.route(api, {
        method: 'put',
        path: '/probe/things/:id',
        params: Type.Object({ id: Type.String({ maxLength: 5 }) }),
        body: Name,
        can: ruleProbe,
        load: ({ params }) => (params.id === '1' ? { id: '1' } : undefined),
      })(({ target, body }) => ({ ...target, ...body }));
      plugin.route(api, { method: 'delete', path: '/probe/things/:id', can: ruleProbe })(() => {
        throw new HttpError(409, 'It is in use');
      });
    },
  });

export interface ApiForum extends TestForum {
  readonly probe: Probe;
  /** Creates a member in the group of that level. */
  member(username: string, level?: 'member' | 'moderator' | 'admin' | 'banned'): Promise<Account>;
  /** A logged-in client. */
  session(username: string): Promise<Client>;
  /** A bearer token of that member. */
  token(username: string): Promise<string>;
}

/** The api plugin with the plugins that it needs and the probe's routes. */
export async function startApi({
  settings = {},
  environment = {},
  extra = [],
  differing = false,
}: {
  settings?: Record<string, unknown>;
  environment?: object;
  extra?: readonly Plugin[];
  differing?: boolean;
} = {}): Promise<ApiForum> {
  const real = await loadPlugins(
    resolve(import.meta.dirname, '../../..'),
    ['cache', 'secrets', 'access', 'limits', 'protection', 'accounts', 'markdown', 'api', 'web'],
    testLog,
  );
  const probe: Probe = { runs: new Map() };
  const forum = await startForum({
    plugins: [...real, createProbe(probe), ...extra],
    environment,
    differing,
    settings: {
      'login.attempt_rate_limit': 100_000,
      'email.mx_validation': false,
      'api.rate_limit_user': 100_000,
      'api.rate_limit_ip': 100_000,
      ...settings,
    },
  });
  const { Access } = await import('parley-forum/plugins/access');
  const accounts = forum.app.service(Accounts);
  const session = async (username: string): Promise<Client> => {
    const client = forum.client();
    await client.login(username, PASSWORD);
    return client;
  };
  return Object.assign(forum, {
    probe,
    session,
    member: (username: string, level: 'member' | 'moderator' | 'admin' | 'banned' = 'member') =>
      accounts.create({
        username,
        email: `${username}@forum.test`,
        password: PASSWORD,
        groupId: forum.app.service(Access).groupOf(level).id,
      }),
    async token(username: string) {
      const answer = await (
        await session(username)
      ).post('/settings/security/api-token', undefined, { accept: 'application/json' });
      if (typeof answer.body?.token !== 'string')
        throw new Error(`no token for ${username}: ${answer.status} ${answer.text.slice(0, 200)}`);
      return answer.body.token as string;
    },
  });
}
