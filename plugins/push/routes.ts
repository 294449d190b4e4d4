import { ECDH } from 'node:crypto';
import { InvalidInput, notFound, Type, type PluginHandle, type Request, type Static } from 'parley-forum';
import type { Member } from 'parley-forum/plugins/access';
import type { Sessions } from 'parley-forum/plugins/accounts';
import { api, bearerToken, IdParams, loginNeeded, nullable, Time } from 'parley-forum/plugins/api';
import { BlockedUrl, type UrlGuard } from 'parley-forum/plugins/protection';
import type { BrowserCookie } from './browser-cookie.ts';
import type { Device, DeviceStore } from './device-store.ts';
import type { VapidKeyStore } from './vapid-keys.ts';

const PushDevice = Type.Object({
  id: Type.String(),
  device: nullable(Type.String({ description: 'Browser and system; null if a program added it with a token' })),
  created_at: Time,
  last_success_at: nullable(Time),
  current: Type.Boolean({ description: 'Whether it is the browser that makes the request' }),
});
const NewDevice = Type.Object({
  endpoint: Type.String({ maxLength: 2_048, description: 'As in a `PushSubscription`: an https address' }),
  keys: Type.Object({
    p256dh: Type.String({ pattern: '^[\\w-]{87}=?$', 'x-pattern-problem': 'must be a public key in base64url' }),
    auth: Type.String({ pattern: '^[\\w-]{22}={0,2}$', 'x-pattern-problem': 'must be a secret in base64url' }),
  }),
});

export interface RouteDeps {
  readonly sessions: Sessions;
  readonly devices: DeviceStore;
  readonly keys: VapidKeyStore;
  readonly cookie: BrowserCookie;
  readonly guard: UrlGuard;
}

/** /api/push/devices: always the caller's own devices. */
export function addRoutes(plugin: PluginHandle, deps: RouteDeps): void {
  const { sessions, devices, keys, cookie } = deps;
  const record = ({ id, device, createdAt, lastSuccessAt }: Device, current: boolean): Static<typeof PushDevice> => ({
    id,
    device,
    created_at: createdAt.toISOString(),
    last_success_at: lastSuccessAt?.toISOString() ?? null,
    current,
  });

  plugin.route(api, {
    method: 'get',
    path: '/push/devices',
    can: 'member',
    summary: 'The devices that receive the caller’s notifications, newest first',
    result: Type.Object({
      devices: Type.Array(PushDevice),
      public_key: Type.String({ description: 'The `applicationServerKey` to subscribe with' }),
    }),
  })(async ({ actor, req }) => {
    const current = cookie.read(req);
    const own = await devices.of(actor.id);
    return {
      devices: own.map((device) => record(device, device.id === current)),
      public_key: (await keys.keys()).publicKey,
    };
  });

  plugin.route(api, {
    method: 'post',
    path: '/push/devices',
    can: 'member',
    summary: 'Send the caller’s notifications to a device; it stops receiving those of another member',
    status: 201,
    body: NewDevice,
    result: Type.Object({ id: Type.String() }),
  })(async ({ actor, body, req, res }) => {
    checkSubscription(body, deps.guard);
    const session = sessions.sessionOf(req);
    const id = await devices.add(actor.id, body, session);
    // The access may have ended while the body was sent, so that the device was not there to be removed with it.
    if (!(await hasAccess(req, actor, sessions))) {
      await devices.remove(actor.id, id);
      throw loginNeeded();
    }
    if (session) cookie.set(req, res, id);
    return { id };
  });

  plugin.route(api, {
    method: 'delete',
    path: '/push/devices/:id',
    can: 'member',
    summary: 'Stop sending notifications to one of the caller’s devices',
    params: IdParams,
    result: Type.Object({}),
  })(async ({ actor, params: { id } }) => {
    if (!(await devices.remove(actor.id, id))) throw noDevice();
    return {};
  });
}

export const noDevice = (): Error => notFound('You have no such device');

/** Whether the session or token of a request is still that of the member. */
async function hasAccess(req: Request, actor: Member, sessions: Sessions): Promise<boolean> {
  const token = bearerToken(req);
  const now = await (token === undefined ? sessions.reauthenticate(req) : sessions.authenticateBearer(token));
  return now?.id === actor.id;
}

/** Where the name of a host leads is checked when a message is sent, as it may change. */
function checkSubscription({ endpoint, keys }: Static<typeof NewDevice>, guard: UrlGuard): void {
  const url = URL.parse(endpoint);
  if (url === null) throw invalid('endpoint', 'must be an https address');
  try {
    guard.check(url);
  } catch (error) {
    throw error instanceof BlockedUrl ? invalid('endpoint', error.message) : error;
  }
  try {
    ECDH.convertKey(Buffer.from(keys.p256dh, 'base64url'), 'prime256v1');
  } catch {
    throw invalid('keys.p256dh', 'must be a public key in base64url');
  }
}

const invalid = (field: string, message: string): InvalidInput => new InvalidInput([{ field, message }]);
