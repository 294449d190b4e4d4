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
import { redirect, type Redirect, type Web } from 'parley-forum/plugins/web';
import type { Attempt } from '../attempt.ts';
import { restorePassword } from './fields.ts';
import { knownTimezone, type Forms, type FormState } from './forms.ts';
import { failedPage, pathOf, progressPage, STEPS, type InstallerPage, type Step } from './pages.ts';
import type { TestResult, ConnectionTests, Text } from './connection-tests.ts';
import type { SetupService } from '../setup.ts';
import { installerSurface as surface, linkNeeded, linkUsed, type Retry } from './surface.ts';
import type { FormValues, Visit, Visits } from './visits.ts';

export interface RoutesDeps {
  readonly setup: SetupService;
  readonly visits: Visits;
  readonly forms: Forms;
  readonly connectionTests: ConnectionTests;
  readonly http: Http;
  readonly web: Pick<Web, 'failure'>;
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
const textOf = (body: Readonly<Record<string, unknown>>, name: string): string | undefined =>
  typeof body[name] === 'string' ? body[name] : undefined;

/** The set-up link, a page for each step, and the progress page. */
export function addRoutes(plugin: PluginHandle, deps: RoutesDeps): void {
  const { setup, visits, forms, http, web, text, style } = deps;
  plugin.route(surface, {
    method: 'get',
    path: '/',
    can: 'public',
    summary: 'The set-up link; redirects to the next step.',
    query: Type.Object({ token: Word(200) }),
    options: { open: true },
  })(({ req, res, query: { token }, actor: visit }) => {
    if (visit) return redirect(nextPath(visit, setup.attempt));
    const cookie = token === undefined ? undefined : visits.open(token, { secure: http.secure(req) });
    if (cookie === undefined) throw linkNeeded();
    res.append('Set-Cookie', cookie);
    // Drops the token from the URL, so that it does not stay in the browser's history.
    return redirect(pathOf('site'));
  });
  plugin.route(surface, {
    method: 'get',
    path: '/style.css',
    can: 'public',
    summary: 'The installer’s style sheet.',
    options: { always: true },
  })(() => ({ kind: 'style', text: style }));
  plugin.route(surface, {
    method: 'get',
    path: '/progress',
    can: 'public',
    summary: 'The progress of the installation.',
  })(({ actor }) => {
    const { attempt } = setup;
    if (!attempt) return redirect('/install');
    return attempt.failure === undefined
      ? progressPage(text, attempt.line, readyNotice(deps, actor!))
      : failedPage(text, web.failure(messageOf(attempt.failure)));
  });
  for (const step of STEPS) {
    plugin.route(surface, { method: 'get', path: `/${step}`, can: 'public', summary: `The step “${step}”.` })(
      ({ actor }) => {
        const visit = actor!;
        return redirectIfNotReady(visit, step, setup.attempt) ?? forms[step](visit);
      },
    );
  }
  const rerender = (step: Step, keep: (answers: FormValues, body: Readonly<Record<string, unknown>>) => void) => ({
    rerender: ({ visit, body, problems, message }: Retry): InstallerPage => {
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
    options: rerender('site', (answers, body) => void (answers.site_name = textOf(body, 'site_name') ?? '')),
  })(({ body, actor }) => saveSite(deps, actor!, body));
  plugin.route(surface, {
    method: 'post',
    path: '/services',
    can: 'public',
    summary: 'Database, Redis and mail; tests their connections.',
    body: ServicesForm,
    options: rerender('services', storeServices),
  })(({ body, actor }) => saveServices(deps, actor!, body));
  plugin.route(surface, {
    method: 'post',
    path: '/administrator',
    can: 'public',
    summary: 'The first administrator; starts the installation.',
    body: AdministratorForm,
    options: rerender('administrator', storeAdministrator),
  })(({ body, actor }) => install(deps, actor!, body));
}

/** The path of the first step that is not done, or of the progress page during the installation. */
function nextPath({ done }: Visit, attempt: Attempt | undefined): string {
  if (attempt) return '/install/progress';
  return pathOf(STEPS.find((step) => !done.has(step)) ?? 'administrator');
}

/** The notice on the first page of the new forum. */
const readyNotice = ({ text }: RoutesDeps, { answers: { username } }: Visit): string => text('ready', { username });

/** Marks a step as done. After the first one, no other browser may install. */
function finish({ visits }: RoutesDeps, visit: Visit, step: Step): void {
  if (!visits.claim(visit)) throw linkUsed();
  visit.done.add(step);
}

/** The redirect for a visit that is not ready for `step`. */
function redirectIfNotReady(visit: Visit, step: Step, attempt: Attempt | undefined): Redirect | undefined {
  if (attempt && attempt.failure === undefined) return redirect('/install/progress');
  const first = STEPS.find((one) => !visit.done.has(one)) ?? step;
  return STEPS.indexOf(first) < STEPS.indexOf(step) ? redirect(pathOf(first)) : undefined;
}

function saveSite(deps: RoutesDeps, visit: Visit, body: Static<typeof SiteForm>): Redirect {
  const { languages, language } = deps;
  const { site_name: name, locale = '', timezone = '' } = body;
  const chosen = languages().includes(locale) ? locale : language();
  Object.assign(visit.answers, {
    site_name: name.trim() || name,
    locale: chosen,
    timezone: knownTimezone(timezone),
  } satisfies FormValues);
  finish(deps, visit, 'site');
  return redirect(pathOf('services'));
}

function storeServices(answers: FormValues, body: Readonly<Record<string, unknown>>): void {
  const database = restorePassword(textOf(body, 'database_url'), answers.database_url);
  const redis = restorePassword(textOf(body, 'redis_url'), answers.redis_url);
  const mail = restorePassword(textOf(body, 'smtp_url'), answers.smtp_url);
  // If neither option was chosen, a database URL implies `server`.
  answers.database =
    body['database'] === 'server' || (body['database'] === undefined && database !== undefined) ? 'server' : 'embedded';
  for (const [name, value] of Object.entries({ database_url: database, redis_url: redis, smtp_url: mail })) {
    if (value === undefined) delete answers[name as 'redis_url'];
    else answers[name as 'redis_url'] = value;
  }
}

async function saveServices(
  deps: RoutesDeps,
  visit: Visit,
  body: Readonly<Record<string, unknown>>,
): Promise<InstallerPage | Redirect> {
  const { forms, text } = deps;
  const { answers } = visit;
  storeServices(answers, body);
  const { test } = body;
  const unused = test === 'redis' ? [] : unusedUrl(deps, answers);
  if (test !== undefined && unused.length > 0) throw new InvalidInput(unused);
  const found = await testConnections(deps, answers, test);
  if (test !== undefined) return forms.services(visit, found);
  const problems = [...unused, ...refused('database_url', found.database), ...refused('redis_url', found.redis)];
  if (answers.smtp_url !== undefined && !MAIL.test(answers.smtp_url))
    problems.push({ field: 'smtp_url', message: text('mail.wrong') });
  if (problems.length > 0) throw new InvalidInput(problems);
  finish(deps, visit, 'services');
  return redirect(pathOf('administrator'));
}

/** The URL of the database server if that option was chosen; empty if none was typed. */
const serverUrl = ({ database, database_url: url = '' }: FormValues): string | undefined =>
  database === 'server' ? url : undefined;

/** A problem if a URL was typed but the embedded database is chosen: asks which of the two was meant. */
function unusedUrl({ environment, text }: RoutesDeps, { database, database_url: url }: FormValues): FieldProblem[] {
  if (environment.databaseUrl !== undefined || database === 'server' || url === undefined) return [];
  return [{ field: 'database_url', message: text('database.unused') }];
}

/** Tests the URLs that were typed: the one named by `test`, or all of them. */
async function testConnections(
  { connectionTests, environment }: RoutesDeps,
  answers: FormValues,
  test: unknown,
): Promise<Pick<FormState, 'database' | 'redis'>> {
  const [database, redis] = [serverUrl(answers), answers.redis_url];
  const wanted = (what: string): boolean => test === undefined || test === what;
  const [databaseFound, redisFound] = await Promise.all([
    (database !== undefined || test === 'database') && environment.databaseUrl === undefined && wanted('database')
      ? connectionTests.database(database ?? '')
      : undefined,
    (redis !== undefined || test === 'redis') && environment.redisUrl === undefined && wanted('redis')
      ? connectionTests.redis(redis ?? '')
      : undefined,
  ]);
  return { database: databaseFound, redis: redisFound };
}

const refused = (field: string, testResult: TestResult | undefined): FieldProblem[] =>
  testResult && !testResult.good ? [{ field, message: testResult.text }] : [];

function storeAdministrator(answers: FormValues, body: Readonly<Record<string, unknown>>): void {
  const [username = '', email = ''] = [textOf(body, 'username'), textOf(body, 'email')];
  Object.assign(answers, { username, email, demo: textOf(body, 'demo') !== undefined } satisfies FormValues);
}

async function install(deps: RoutesDeps, visit: Visit, body: Static<typeof AdministratorForm>): Promise<Redirect> {
  const { setup, environment, text } = deps;
  const { answers } = visit;
  const { username, email, password, password_confirmation: repeated, demo } = body;
  storeAdministrator(answers, { ...body });
  const missing = redirectIfNotReady(visit, 'administrator', undefined);
  if (missing) return missing;
  if (repeated !== password)
    throw new InvalidInput([{ field: 'password_confirmation', message: text('administrator.password-differs') }]);
  const { site_name: siteName, locale, timezone, redis_url: redis, smtp_url: mail } = answers;
  const database = serverUrl(answers);
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
  // Redirects to the progress page until there is a forum.
  return redirect('/login', { notice: readyNotice(deps, visit) });
}
