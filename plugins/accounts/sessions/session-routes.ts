import { Type, type Clock, type PluginHandle, type Request } from 'parley-forum';
import { api, nullable } from 'parley-forum/plugins/api';
import { loginOf, type SessionRules } from './session-rules.ts';

const Session = Type.Object({
  expires_in: nullable(
    Type.Integer({ description: 'Seconds until it ends where nothing is done; null where a token says who calls' }),
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
    summary: 'How long the caller’s session lasts; asking makes it last no longer',
    options: { idle: true },
    result: Session,
  })(({ req }) => session(req));

  plugin.route(api, {
    method: 'post',
    path: '/session',
    can: 'member',
    summary: 'Says that the member is still there, so that the session lasts longer',
    body: Type.Object({}),
    result: Session,
  })(({ req }) => session(req));
}
