import type { Clock, RouteInfo, Secrets, Settings } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/** A form that was sent but not processed, because its sender first had to confirm who they are. */
export interface PendingForm {
  /** The pattern of the route that it was sent to, and the path. */
  readonly route: string;
  readonly action: string;
  /** The page that contains the form. */
  readonly page: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Names of secret fields that had a value; their values are not stored. */
  readonly secrets: readonly string[];
}

interface SealedForm extends PendingForm {
  readonly account: string | undefined;
  readonly at: number;
}

/** Milliseconds within which the member must confirm. */
const LIFETIME = 3_600_000;
/** Characters, so that the sealed text still fits into a form. */
const MAX_LENGTH = 700_000;
/** Names of fields whose values must not be stored, no matter what their route declares. */
const SECRET_FIELD_NAME =
  /(^|[._[-])(password|passphrase|secret|token|code|credential|api_?key|private_?key)s?(_confirmation)?\]?$/i;

/**
 * Carries a form across the confirmation of its sender: sealed, in a hidden field of the page that asks for the
 * password. The server stores nothing, and only the sender has the form.
 */
export class PendingForms {
  readonly #secrets: Secrets;
  readonly #settings: Settings;
  readonly #clock: Clock;

  constructor({
    secrets,
    settings,
    clock,
  }: {
    readonly secrets: Secrets;
    readonly settings: Settings;
    readonly clock: Clock;
  }) {
    this.#secrets = secrets;
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Undefined if the form is too long. */
  seal(
    form: { readonly route: RouteInfo; readonly action: string; readonly page: string; readonly body: unknown },
    { id }: Viewer,
  ): string | undefined {
    const given = Object.entries((form.body ?? {}) as Readonly<Record<string, unknown>>).filter(
      ([name]) => name !== '_csrf',
    );
    const secret = this.#secretsOf(form.route);
    const sealed: SealedForm = {
      route: form.route.path,
      action: form.action,
      page: form.page,
      account: id,
      at: this.#clock.now(),
      body: Object.fromEntries(given.filter(([name]) => !secret(name))),
      secrets: given.filter(([name, value]) => secret(name) && value !== '').map(([name]) => name),
    };
    const text = JSON.stringify(sealed);
    return text.length > MAX_LENGTH ? undefined : this.#secrets.seal(text);
  }

  /** Undefined if the form is too old, belongs to another account, or was not sealed here. */
  open(sealed: string, { id }: Viewer): PendingForm | undefined {
    try {
      const form = JSON.parse(this.#secrets.open(sealed)) as SealedForm;
      return form.account === id && this.#clock.now() - form.at < LIFETIME ? form : undefined;
    } catch {
      // Not sealed by this site, or with a key that has been replaced.
      return undefined;
    }
  }

  #secretsOf({ body }: RouteInfo): (name: string) => boolean {
    const properties = ((body as { properties?: object } | undefined)?.properties ?? {}) as Readonly<
      Record<string, { readonly 'x-secret'?: boolean }>
    >;
    const settings = new Map(this.#settings.list().map(({ key, secret }) => [key, secret]));
    return (name) => settings.get(name) ?? properties[name]?.['x-secret'] ?? SECRET_FIELD_NAME.test(name);
  }
}

/** A parsed body as form fields that parse to the same body. */
export function toFormFields(value: unknown, name = ''): readonly { readonly name: string; readonly value: string }[] {
  if (Array.isArray(value)) {
    const single = value.every((item) => typeof item !== 'object');
    if (single && value.length > 1) return value.map((item) => ({ name, value: String(item) }));
    if (single) return [{ name: `${name}[]`, value: String(value[0] ?? '') }];
  }
  if (typeof value !== 'object' || value === null) return [{ name, value: String(value ?? '') }];
  return Object.entries(value).flatMap(([key, inner]) => toFormFields(inner, name === '' ? key : `${name}[${key}]`));
}
