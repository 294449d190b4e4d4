import { definePlugin, defineSurface, notFound, Type, type SurfaceBehaviour } from 'parley-forum';
import { Accounts, Csrf, Sessions, type Account } from 'parley-forum/plugins/accounts';
import { pages } from 'parley-forum/plugins/web';
import type { AnonymousContext, Request, Response } from 'parley-forum';

/** What the service has besides its contract: the login itself, for whoever has proved who they are. */
interface LoginFlow {
  logIn(req: Request, res: Response, account: Account, options: { readonly remember: boolean }): Promise<unknown>;
}

/** Does nothing by itself, so that what a request to it takes is what the kernel takes. */
const idle = defineSurface<AnonymousContext>('bench.idle', { prefix: '/bench/idle' });
const behaviour: SurfaceBehaviour<AnonymousContext> = {
  authenticate: () => ({ actor: undefined }),
  respond: ({ res }) => void res.end(),
  fail: (_exchange, failure) => {
    throw failure;
  },
};

/** What the bench adds to the forum it measures. */
export default definePlugin({
  id: 'bench',
  needs: { accounts: Accounts, sessions: Sessions, csrf: Csrf },
  setup({ accounts, sessions, csrf }, plugin) {
    // Opens a session without a password, since hundreds of passwords would take longer than what is measured.
    plugin.route(pages, { method: 'get', path: '/bench/enter/:id', can: 'public' })(async ({ params, req, res }) => {
      const account = await accounts.find(params['id'] ?? '');
      if (!account) throw notFound();
      await (sessions as unknown as LoginFlow).logIn(req, res, account, { remember: false });
      res.json({ csrf: csrf.token(req, res) });
    });
    plugin.surface(idle, behaviour);
    plugin.route(idle, {
      method: 'get',
      path: '/:number',
      params: Type.Object({ number: Type.Integer() }),
      can: 'public',
    })(({ params }) => params);
  },
});
