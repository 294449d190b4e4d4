import {
  HttpError,
  InvalidInput,
  Type,
  type Http,
  type PluginHandle,
  type Request,
  type Response,
  type Settings,
} from 'parley-forum';
import type { Member, Viewer } from 'parley-forum/plugins/access';
import { securitySettingsEnd } from 'parley-forum/plugins/accounts';
import {
  fill,
  formErrors,
  html,
  negotiated,
  pages,
  phrase,
  redirect,
  SafeHtml,
  slotFillings,
  view,
  type PageHead,
  type Retry,
  type View,
  type Web,
} from 'parley-forum/plugins/web';
import type { CodeVerifier } from './code-verifier.ts';
import type { FactorOwner, State, TwoFactorService } from './service.ts';

export interface SettingsPagesDeps {
  readonly service: TwoFactorService;
  readonly verifier: CodeVerifier;
  readonly http: Http;
  readonly settings: Settings;
  readonly web: Web;
}

export const PAGE = '/settings/security/two-factor';
/** Longer than any code with all the separators people may type. */
export const Code = Type.Object({ code: Type.String({ minLength: 1, maxLength: 60 }) });

const HEAD: PageHead = {
  name: 'settings',
  title: phrase('two-factor:title'),
  noindex: true,
  current: '/settings/security',
};
const OFF_STATE: State = { pendingSecret: undefined, enabled: false, codesLeft: 0 };

/** What the page shows besides the state: a refused form, or newly generated backup codes. */
interface PageExtras {
  readonly retry?: Retry;
  readonly codes?: readonly string[];
}

/** Where members switch their second factor on and off. All of its pages ask for the password again. */
export function addSettingsPages(
  plugin: PluginHandle,
  { service, verifier, http, settings, web }: SettingsPagesDeps,
): void {
  const member = (actor: Member, req: Request): FactorOwner => ({ id: actor.id, address: http.ip(req) });
  const uriOf = async (secret: string, username: string): Promise<string> => {
    const { enrolmentUri } = await import('./totp.ts');
    return enrolmentUri({ secret, username, site: String(settings.get('site.name') ?? '') });
  };

  const page = async (viewer: Viewer, { retry, codes }: PageExtras = {}): Promise<View> => {
    // If the session has ended in the meantime, a guest gets here with a refused form.
    const { pendingSecret, ...state } = viewer.id === undefined ? OFF_STATE : await service.state(viewer.id);
    const setup =
      pendingSecret &&
      (await setupOf(
        pendingSecret,
        await uriOf(pendingSecret, viewer.username ?? ''),
        web.say(phrase('two-factor:open')),
      ));
    const download = codes && downloadOf(codes, web.say(phrase('two-factor:codes.download')));
    const model = { ...state, setup, codes, download, ...formErrors(retry) };
    return view('@two-factor/settings', HEAD, model);
  };
  /** Codes are shown only once, so the browser must not cache them either. */
  const codesPage = async (viewer: Viewer, res: Response, codes: readonly string[]) => {
    res.set('Cache-Control', 'no-store');
    return negotiated(await page(viewer, { codes }), { success: true, backup_codes: codes });
  };
  const options = { confirm: true, rerender: (retry: Retry) => page(retry.actor, { retry }) };

  plugin.route(pages, { method: 'get', path: PAGE, can: 'member', options })(async ({ actor, res }) => {
    res.set('Cache-Control', 'no-store');
    const { enabled, codesLeft, pendingSecret } = await service.state(actor.id);
    return negotiated(await page(actor), {
      success: true,
      enabled,
      waiting: pendingSecret !== undefined,
      backup_codes_left: codesLeft,
    });
  });

  plugin.route(pages, { method: 'post', path: `${PAGE}/begin`, can: 'member', options })(async ({ actor, res }) => {
    const secret = await service.begin(actor.id);
    res.set('Cache-Control', 'no-store');
    return negotiated(redirect(PAGE), { success: true, secret, uri: await uriOf(secret, actor.username) });
  });

  plugin.route(pages, { method: 'post', path: `${PAGE}/confirm`, can: 'member', options, body: Code })(
    async ({ actor, body, req, res }) => {
      const own = member(actor, req);
      return codesPage(actor, res, await fieldProblem(verifier.limited(own, () => service.confirm(own, body.code))));
    },
  );

  plugin.route(pages, { method: 'post', path: `${PAGE}/codes`, can: 'member', options })(
    async ({ actor, req, res }) => {
      const codes = await service.renewCodes(member(actor, req));
      if (!codes) throw new HttpError(409, 'Two-factor login is off; switch it on first');
      return codesPage(actor, res, codes);
    },
  );

  plugin.route(pages, { method: 'post', path: `${PAGE}/off`, can: 'member', options, body: Code })(
    async ({ actor, body, req }) => {
      const own = member(actor, req);
      await fieldProblem(verifier.verify(own, body.code));
      await service.disable(own);
      return negotiated(redirect('/settings/security', { notice: phrase('two-factor:off.notice') }), { success: true });
    },
  );

  plugin.extend(
    slotFillings,
    fill(securitySettingsEnd, async (contexts, viewer) => {
      if (viewer.id === undefined) return [];
      const panel = await web.fragment(viewer, '@two-factor/panel', {
        enabled: await service.enabled(viewer.id),
        href: PAGE,
      });
      return contexts.map(() => panel);
    }),
  );
}

/** A `data:` URL, since the codes cannot be requested again. */
const downloadOf = (codes: readonly string[], label: string): SafeHtml => {
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`${codes.join('\r\n')}\r\n`)}`;
  return html`<a class="button" download="backup-codes.txt" href="${file}">${label}</a>`;
};

/** On the settings pages a wrong code is a field problem: 401 would mean that nobody is logged in. */
export async function fieldProblem<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof HttpError) || error.status !== 401) throw error;
    throw new InvalidInput([{ field: 'code', message: 'is wrong or was used before; wait for the next one' }]);
  });
}

/** The same key in three forms: to scan with a camera, to type, or to open on the phone itself. */
const setupOf = async (secret: string, uri: string, label: string): Promise<object> => ({
  secret: secret.replace(/(.{4})(?=.)/g, '$1 '),
  picture: await pictureOf(uri),
  link: html`<a class="button" href="${uri}">${label}</a>`,
});

/** In fixed colours, since cameras need dark on light whatever the page's colour scheme is. */
async function pictureOf(uri: string): Promise<SafeHtml> {
  const { default: QRCode } = await import('qrcode');
  return new SafeHtml(await QRCode.toString(uri, { type: 'svg', errorCorrectionLevel: 'M', margin: 4 }));
}
