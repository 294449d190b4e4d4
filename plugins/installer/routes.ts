import {
  InvalidInput,
  messageOf,
  Type,
  type Environment,
  type FieldProblem,
  type Http,
  type DataLocation,
  type PluginHandle,
  type Static,
} from 'parley-forum';
import { redirect, type Redirect } from 'parley-forum/plugins/web';
import type { Attempt } from './attempt.ts';
import { unmasked } from './fields.ts';
import { knownTimezone, type Forms, type Shown } from './forms.ts';
import { failedSheet, pathOf, progressSheet, STEPS, type Sheet, type Step } from './pages.ts';
import type { Finding, Probes, Text } from './probes.ts';
import type { SetupService } from './setup.ts';
import { installerSurface as surface, linkNeeded, linkUsed, type Retry } from './surface.ts';
import type { Answers, Visit, Visits } from './visits.ts';

export interface RouteParts {
  readonly setup: SetupService;
  readonly visits: Visits;
  readonly forms: Forms;
  readonly probes: Probes;
  readonly http: Http;
  readonly environment: Environment;
  readonly text: Text;
  readonly languages: () => readonly string[];
  readonly language: () => string;
  readonly style: string;
}

const Word = (maxLength: number) => Type.Optional(Type.String({ maxLength }));
const SiteForm = Type.Object({
  site_name: Type.String({ minLength: 1, maxLength: 60 }),
  locale: Word(35),
  timezone: Word(64),
});
const ServicesForm = Type.Object({
  database: Type.Optional(Type.Union([Type.Literal('embedded'), Type.Literal('server')])),
  database_url: Word(500),
  redis_url: Word(500),
  smtp_url: Word(500),
  test: Type.Optional(Type.Union([Type.Literal('database'), Type.Literal('redis')])),
});
const AdministratorForm = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 100 }),
  email: Type.String({ minLength: 1, maxLength: 254 }),
  password: Type.String({ minLength: 1, maxLength: 1_024 }),
  password_confirmation: Type.String({ maxLength: 1_024 }),
  demo: Word(5),
});

const MAIL = /^smtps?:\/\/.+/;
const said = (body: Readonly<Record<string, unknown>>, name: string): string | undefined =>
  typeof body[name] === 'string' ? body[name] : undefined;

/** The set-up link, a page for each step, and the page that is shown while it installs. */
export function addRoutes(plugin: PluginHandle, parts: RouteParts): void {
  const { setup, visits, forms, http, text, style } = parts;
  plugin.route(surface, {
    method: 'get',
    path: '/',
    can: 'public',
    summary: 'The set-up link, and the step that is next.',
    query: Type.Object({ token: Word(200) }),
    options: { open: true },
  })(({ req, res, query: { token }, actor: visit }) => {
    if (visit) return redirect(ahead(visit, setup.attempt));
    const cookie = token === undefined ? undefined : visits.admit(token, { secure: http.secure(req) });
    if (cookie === undefined) throw linkNeeded();
    res.append('Set-Cookie', cookie);
    // Without the token, which would stay in the browser's history.
    return redirect(pathOf('site'));
  });
  plugin.route(surface, {
    method: 'get',
    path: '/style.css',
    can: 'public',
    summary: 'How the installer looks.',
    options: { always: true },
  })(() => ({ kind: 'style', text: style }));
  plugin.route(surface, { method: 'get', path: '/progress', can: 'public', summary: 'How far the installation is.' })(
    ({ actor }) => {
      const { attempt } = setup;
      if (!attempt) return redirect('/install');
      return attempt.failure === undefined
        ? progressSheet(text, attempt.line, ready(parts, actor!))
        : failedSheet(text, messageOf(attempt.failure));
    },
  );
  for (const step of STEPS) {
    plugin.route(surface, { method: 'get', path: `/${step}`, can: 'public', summary: `The step “${step}”.` })(
      ({ actor }) => {
        const visit = actor!;
        return elsewhere(visit, step, setup.attempt) ?? forms[step](visit);
      },
    );
  }
  const again = (step: Step, keep: (answers: Answers, body: Readonly<Record<string, unknown>>) => void) => ({
    again: ({ visit, body, problems, message }: Retry): Sheet => {
      keep(visit.answers, body);
      return forms[step](visit, { problems, message });
    },
  });
  plugin.route(surface, {
    method: 'post',
    path: '/site',
    can: 'public',
    summary: 'Name, language and time zone.',
    body: SiteForm,
    options: again('site', (answers, body) => void (answers.site_name = said(body, 'site_name') ?? '')),
  })(({ body, actor }) => saveSite(parts, actor!, body));
  plugin.route(surface, {
    method: 'post',
    path: '/services',
    can: 'public',
    summary: 'Database, Redis and mail; tests their connections.',
    body: ServicesForm,
    options: again('services', keepServices),
  })(({ body, actor }) => saveServices(parts, actor!, body));
  plugin.route(surface, {
    method: 'post',
    path: '/administrator',
    can: 'public',
    summary: 'The first administrator; installs.',
    body: AdministratorForm,
    options: again('administrator', keepAdministrator),
  })(({ body, actor }) => install(parts, actor!, body));
}

/** The first step that is not done; where somebody installs already, how far that is. */
function ahead({ done }: Visit, attempt: Attempt | undefined): string {
  if (attempt) return '/install/progress';
  return pathOf(STEPS.find((step) => !done.has(step)) ?? 'administrator');
}

/** What the first page of the forum says to whoever set it up. */
const ready = ({ text }: RouteParts, { answers: { username } }: Visit): string => text('ready', { username });

/** A step is done: from the first on, no other browser may install. */
function finish({ visits }: RouteParts, visit: Visit, step: Step): void {
  if (!visits.take(visit)) throw linkUsed();
  visit.done.add(step);
}

/** Where a visit belongs that is not ready for `step`. */
function elsewhere(visit: Visit, step: Step, attempt: Attempt | undefined): Redirect | undefined {
  if (attempt && attempt.failure === undefined) return redirect('/install/progress');
  const first = STEPS.find((one) => !visit.done.has(one)) ?? step;
  return STEPS.indexOf(first) < STEPS.indexOf(step) ? redirect(pathOf(first)) : undefined;
}

function saveSite(parts: RouteParts, visit: Visit, body: Static<typeof SiteForm>): Redirect {
  const { languages, language } = parts;
  const { site_name: name, locale = '', timezone = '' } = body;
  const chosen = languages().includes(locale) ? locale : language();
  Object.assign(visit.answers, {
    site_name: name.trim() || name,
    locale: chosen,
    timezone: knownTimezone(timezone),
  } satisfies Answers);
  finish(parts, visit, 'site');
  return redirect(pathOf('services'));
}

function keepServices(answers: Answers, body: Readonly<Record<string, unknown>>): void {
  const database = unmasked(said(body, 'database_url'), answers.database_url);
  const redis = unmasked(said(body, 'redis_url'), answers.redis_url);
  const mail = unmasked(said(body, 'smtp_url'), answers.smtp_url);
  // Where nothing was chosen, an address says it.
  answers.database =
    body['database'] === 'server' || (body['database'] === undefined && database !== undefined) ? 'server' : 'embedded';
  for (const [name, value] of Object.entries({ database_url: database, redis_url: redis, smtp_url: mail })) {
    if (value === undefined) delete answers[name as 'redis_url'];
    else answers[name as 'redis_url'] = value;
  }
}

async function saveServices(
  parts: RouteParts,
  visit: Visit,
  body: Readonly<Record<string, unknown>>,
): Promise<Sheet | Redirect> {
  const { forms, text } = parts;
  const { answers } = visit;
  keepServices(answers, body);
  const { test } = body;
  const unused = test === 'redis' ? [] : unusedAddress(parts, answers);
  if (test !== undefined && unused.length > 0) throw new InvalidInput(unused);
  const found = await look(parts, answers, test);
  if (test !== undefined) return forms.services(visit, found);
  const problems = [...unused, ...refused('database_url', found.database), ...refused('redis_url', found.redis)];
  if (answers.smtp_url !== undefined && !MAIL.test(answers.smtp_url))
    problems.push({ field: 'smtp_url', message: text('mail.wrong') });
  if (problems.length > 0) throw new InvalidInput(problems);
  finish(parts, visit, 'services');
  return redirect(pathOf('administrator'));
}

/** The address of the server that was chosen; empty where none was typed. */
const serverOf = ({ database, database_url: url = '' }: Answers): string | undefined =>
  database === 'server' ? url : undefined;

/** Whoever typed an address and left the embedded database chosen is asked which of the two was meant. */
function unusedAddress({ environment, text }: RouteParts, { database, database_url: url }: Answers): FieldProblem[] {
  if (environment.databaseUrl !== undefined || database === 'server' || url === undefined) return [];
  return [{ field: 'database_url', message: text('database.unused') }];
}

/** Tries the addresses that were typed: the one that `test` names, or all. */
async function look(
  { probes, environment }: RouteParts,
  answers: Answers,
  test: unknown,
): Promise<Pick<Shown, 'database' | 'redis'>> {
  const [database, redis] = [serverOf(answers), answers.redis_url];
  const wanted = (what: string): boolean => test === undefined || test === what;
  const [databaseFound, redisFound] = await Promise.all([
    (database !== undefined || test === 'database') && environment.databaseUrl === undefined && wanted('database')
      ? probes.database(database ?? '')
      : undefined,
    (redis !== undefined || test === 'redis') && environment.redisUrl === undefined && wanted('redis')
      ? probes.redis(redis ?? '')
      : undefined,
  ]);
  return { database: databaseFound, redis: redisFound };
}

const refused = (field: string, finding: Finding | undefined): FieldProblem[] =>
  finding && !finding.good ? [{ field, message: finding.text }] : [];

function keepAdministrator(answers: Answers, body: Readonly<Record<string, unknown>>): void {
  const [username = '', email = ''] = [said(body, 'username'), said(body, 'email')];
  Object.assign(answers, { username, email, demo: said(body, 'demo') !== undefined } satisfies Answers);
}

async function install(parts: RouteParts, visit: Visit, body: Static<typeof AdministratorForm>): Promise<Redirect> {
  const { setup, environment, text } = parts;
  const { answers } = visit;
  const { username, email, password, password_confirmation: repeated, demo } = body;
  keepAdministrator(answers, { ...body });
  const missing = elsewhere(visit, 'administrator', undefined);
  if (missing) return missing;
  if (repeated !== password)
    throw new InvalidInput([{ field: 'password_confirmation', message: text('administrator.password-differs') }]);
  const { site_name: siteName, locale, timezone, redis_url: redis, smtp_url: mail } = answers;
  const database = serverOf(answers);
  const place: DataLocation = {
    databaseUrl: environment.databaseUrl ?? database,
    redisUrl: environment.redisUrl ?? redis,
  };
  await setup.install(
    {
      username,
      email,
      password,
      demo: demo !== undefined,
      ...(siteName !== undefined && { siteName }),
      settings: { 'site.locale': locale, 'site.timezone': timezone },
      place: {
        ...(environment.databaseUrl === undefined && database !== undefined && { database_url: database }),
        ...(environment.redisUrl === undefined && redis !== undefined && { redis_url: redis }),
        ...(environment.smtpUrl === undefined && mail !== undefined && { smtp_url: mail }),
      },
    },
    place,
  );
  visit.done.add('administrator');
  // Leads to the progress until there is a forum.
  return redirect('/login', { notice: ready(parts, visit) });
}
