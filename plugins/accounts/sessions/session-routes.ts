import { Type, type Clock, type PluginHandle, type Request } from 'parley-forum';
import { api, nullable } from 'parley-forum/plugins/api';
import { loginOf, type SessionRules } from './session-rules.ts';

const Session = Type.Object({
  expires_in: nullable(
    Type.Integer({
      description: 'Seconds until the session ends without activity; null if the caller is authenticated by a token',
    }),
  ),
});

/** Routes for pages on which members write, to query and extend the lifetime of their session. */
export function addSessionRoutes(
  plugin: PluginHandle,
  { rules, clock }: { readonly rules: SessionRules; readonly clock: Clock },
): void {
  const session = (req: Request): { expires_in: number | null } => {
    const login = loginOf(req);
    return { expires_in: login ? Math.max(0, Math.round((rules.endOf(login) - clock.now()) / 1_000)) : null };
  };
  plugin.route(api, {
    method: 'get',
    path: '/session',
    can: 'member',
    summary: 'How long the caller’s session lasts; this request does not extend it',
    options: { idle: true },
    result: Session,
  })(({ req }) => session(req));

  plugin.route(api, {
    method: 'post',
    path: '/session',
    can: 'member',
    summary: 'Report that the member is still active, which extends the session',
    body: Type.Object({}),
    result: Session,
  })(({ req }) => session(req));
}
