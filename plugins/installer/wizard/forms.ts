import type { Environment, FieldProblem } from 'parley-forum';
import { timezoneNamed, timezones, type PasswordPolicy } from 'parley-forum/plugins/accounts';
import { html, errorsByField, type SafeHtml } from 'parley-forum/plugins/web';
import { choice, field, testMessage, maskPassword, problems, select } from './fields.ts';
import { pathOf, installerPage, STEPS, type InstallerPage, type Step } from './pages.ts';
import type { TestResult, Text } from './connection-tests.ts';
import type { Visit } from './visits.ts';

export interface FormsDeps {
  readonly text: Text;
  readonly environment: Environment;
  readonly policy: () => PasswordPolicy;
  /** A rule of the password policy in words. */
  readonly rule: (label: string, minimum: number) => string;
  /** The ids of the installed languages. */
  readonly languages: () => readonly string[];
  readonly demo: boolean;
  readonly defaults: {
    readonly siteName: () => string;
    readonly language: () => string;
    readonly timezone: () => string;
  };
}

/** The state a step is shown in: initially, after a connection test, or after it was refused. */
export interface FormState {
  readonly message?: string | undefined;
  readonly problems?: readonly FieldProblem[];
  readonly database?: TestResult | undefined;
  readonly redis?: TestResult | undefined;
}

/** Texts by field name. */
type Texts = Readonly<Record<string, string>>;

/** `zone` if this machine knows it, UTC otherwise. */
export const knownTimezone = (zone: string): string => timezoneNamed(zone) ?? 'UTC';

/** The time zone of this machine. */
export const ownTimezone = (): string => knownTimezone(Intl.DateTimeFormat().resolvedOptions().timeZone);

/** The pages of the steps, with the values entered so far. */
export class Forms {
  readonly #deps: FormsDeps;

  constructor(deps: FormsDeps) {
    this.#deps = deps;
  }

  site(visit: Visit, shown: FormState = {}): InstallerPage {
    const { text, languages, defaults } = this.#deps;
    const { site_name: name, locale, timezone } = visit.answers;
    const named = new Intl.DisplayNames([defaults.language()], { type: 'language' });
    const offered = languages().map((id) => ({ value: id, label: named.of(id) ?? id }));
    const zones = timezones().map((zone) => ({ value: zone, label: zone.replaceAll('_', ' ') }));
    const typed = { name: 'site_name', value: name ?? defaults.siteName(), required: true, maxlength: 60 };
    return this.#step(
      'site',
      visit,
      shown,
      { site_name: text('site.name') },
      (wrong) =>
        html`
${field({ ...typed, label: text('site.name'), help: text('site.name-help'), problem: wrong['site_name'] })}
${select('locale', text('site.locale'), offered, locale ?? defaults.language(), text('site.locale-help'))}
${select('timezone', text('site.timezone'), zones, timezone ?? defaults.timezone())}
${this.#submit('continue')}`,
    );
  }

  services(visit: Visit, shown: FormState = {}): InstallerPage {
    const { text } = this.#deps;
    const labels = { database_url: text('database.url'), redis_url: text('redis.url'), smtp_url: text('mail.url') };
    return this.#step(
      'services',
      visit,
      shown,
      labels,
      (wrong) =>
        html`${this.#byEnter('continue')}
<fieldset><legend>${text('database')}</legend>${this.#database(visit, wrong, shown.database)}</fieldset>
<fieldset><legend>${text('redis')}</legend>${this.#redis(visit, wrong, shown.redis)}</fieldset>
<fieldset><legend>${text('mail')}</legend>${this.#mail(visit, wrong)}</fieldset>
${this.#submit('continue')}`,
    );
  }

  administrator(visit: Visit, shown: FormState = {}): InstallerPage {
    const { text, rule, demo } = this.#deps;
    const { username, email } = visit.answers;
    const { pattern, minimum, rules } = this.#deps.policy();
    const labels = {
      username: text('administrator.username'),
      email: text('administrator.email'),
      password: text('administrator.password'),
      password_confirmation: text('administrator.password-again'),
    };
    const checklist = html`<p>${text('administrator.password-help')}</p><ul>${rules.map(({ label }) => html`<li>${rule(label, minimum)}</li>`)}</ul>`;
    const secret = { type: 'password', autocomplete: 'new-password', required: true } as const;
    const plain = { required: true, plain: true } as const;
    const named = {
      ...plain,
      name: 'username',
      value: username,
      autocomplete: 'username',
      pattern: '[A-Za-z0-9._\\-]{3,30}',
      maxlength: 30,
    };
    const reached = {
      ...plain,
      name: 'email',
      type: 'email',
      value: email,
      autocomplete: 'email',
      maxlength: 254,
    } as const;
    return this.#step(
      'administrator',
      visit,
      shown,
      labels,
      (wrong) =>
        html`
<p>${text('administrator.lead')}</p>
${field({ ...named, label: labels.username, help: text('administrator.username-help'), problem: wrong['username'] })}
${field({ ...reached, label: labels.email, problem: wrong['email'] })}
${field({ ...secret, name: 'password', label: labels.password, help: checklist, problem: wrong['password'], pattern, minlength: minimum })}
${field({ ...secret, name: 'password_confirmation', label: labels.password_confirmation, problem: wrong['password_confirmation'] })}
${demo && choice('checkbox', 'demo', { value: '1', label: text('administrator.demo') }, visit.answers.demo === true, text('administrator.demo-help'))}
${this.#submit('administrator.submit')}`,
    );
  }

  #step(
    step: Step,
    { csrf }: Visit,
    shown: FormState,
    labels: Texts,
    inside: (wrong: Texts) => SafeHtml,
  ): InstallerPage {
    const { text } = this.#deps;
    const before = STEPS[STEPS.indexOf(step) - 1];
    return installerPage(
      text(`${step}.title`),
      html`${problems(shown.message, shown.problems ?? [], labels)}
<form method="post" action="${pathOf(step)}"><input type="hidden" name="_csrf" value="${csrf}">${inside(errorsByField(shown.problems ?? []))}</form>
${before && html`<p><a href="${pathOf(before)}">${text('back')}</a></p>`}`,
      { step },
    );
  }

  #database(
    { answers: { database, database_url: url } }: Visit,
    wrong: Texts,
    testResult: TestResult | undefined,
  ): SafeHtml {
    const {
      text,
      environment: { databaseUrl },
    } = this.#deps;
    if (databaseUrl !== undefined) return html`<p>${text('database.fixed', { host: new URL(databaseUrl).host })}</p>`;
    const server = database === 'server';
    return html`${choice('radio', 'database', { value: 'embedded', label: text('database.embedded') }, !server, text('database.embedded-help'))}
${choice('radio', 'database', { value: 'server', label: text('database.server') }, server, text('database.server-help'))}
${this.#address('database_url', 'database', url, wrong)}
${testMessage(testResult)}${this.#test('database')}`;
  }

  #redis({ answers: { redis_url: url } }: Visit, wrong: Texts, testResult: TestResult | undefined): SafeHtml {
    const {
      text,
      environment: { redisUrl },
    } = this.#deps;
    if (redisUrl !== undefined) return html`<p>${text('redis.fixed', { host: new URL(redisUrl).host })}</p>`;
    return html`<p class="help">${text('redis.help')}</p>${this.#address('redis_url', 'redis', url, wrong)}${testMessage(testResult)}${this.#test('redis')}`;
  }

  #mail({ answers: { smtp_url: url } }: Visit, wrong: Texts): SafeHtml {
    const {
      text,
      environment: { smtpUrl },
    } = this.#deps;
    return smtpUrl === undefined
      ? this.#address('smtp_url', 'mail', url, wrong)
      : html`<p>${text('mail.fixed', { host: new URL(smtpUrl).host })}</p>`;
  }

  #address(name: string, kind: string, url: string | undefined, wrong: Texts): SafeHtml {
    const { text } = this.#deps;
    const value = maskPassword(url);
    const help = value === (url ?? '') ? text(`${kind}.url-help`) : text('kept');
    return field({
      name,
      label: text(`${kind}.url`),
      value,
      help,
      problem: wrong[name],
      autocomplete: 'off',
      maxlength: 500,
      plain: true,
    });
  }

  #test(what: 'database' | 'redis'): SafeHtml {
    return html`<p><button name="test" value="${what}" formnovalidate>${this.#deps.text(`${what}.test`)}</button></p>`;
  }

  /**
   * Pressing Enter in a field activates the form's first button, so a submit button precedes the test buttons. It is
   * reachable by keyboard only.
   */
  #byEnter(key: string): SafeHtml {
    return html`<button class="by-enter" tabindex="-1" aria-hidden="true">${this.#deps.text(key)}</button>`;
  }

  #submit(key: string): SafeHtml {
    return html`<p class="actions"><button class="primary">${this.#deps.text(key)}</button></p>`;
  }
}
