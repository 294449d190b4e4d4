import { announce, loadElement, refreshCsrf, request, t, toast, toDocument, type LoginDialog } from '@forum/client';

/** Value of `data-enhance`: the page stays when the form is accepted. */
const STAY = 'stay';
type Submitter = HTMLButtonElement | HTMLInputElement | null;
/** What was put right before it is sent once more. */
type Mended = 'token' | 'session';

/**
 * Forms with `data-enhance` are sent without leaving the page, so that nothing typed is lost when something is in the
 * way. What is sent unchecked is not finished: its page comes back with the form.
 */
export function enhanceForms(): void {
  document.addEventListener('submit', (event) => {
    const form = event.target as HTMLFormElement;
    if (
      !('enhance' in form.dataset) ||
      event.defaultPrevented ||
      (event.submitter as HTMLButtonElement | null)?.formNoValidate
    )
      return;
    event.preventDefault();
    if (form.ariaBusy !== 'true') void send(form, event.submitter as Submitter);
  });
}

async function send(form: HTMLFormElement, submitter: Submitter, mended?: Mended): Promise<void> {
  busy(form, true);
  say(form, '');
  try {
    const body = new URLSearchParams(new FormData(form, submitter) as unknown as Record<string, string>);
    const response = await request(form.action, {
      method: 'POST',
      body,
      headers: { 'X-Enhance': form.dataset['enhance'] ?? '' },
    });
    await settle(form, submitter, response, mended);
  } catch {
    say(form, t('offline'));
  } finally {
    busy(form, false);
  }
}

async function settle(form: HTMLFormElement, submitter: Submitter, response: Response, mended?: Mended): Promise<void> {
  if (response.ok) return arrive(form, response);
  if (response.status === 429) return wait(form, Number(response.headers.get('Retry-After') ?? 10));
  const answer = toDocument(await response.text());
  if (isAnother(answer)) return askToLogIn(form);
  // A token from before logging in or out elsewhere: take the new one over and try once more.
  if (response.status === 403 && !mended && refreshCsrf(answer)) return send(form, submitter, 'token');
  refreshCsrf(answer);
  if (response.status === 401)
    return mended !== 'session' && (await logIn()) ? send(form, submitter, 'session') : askToLogIn(form);
  if (response.status < 500 && showRefused(form, answer)) return;
  say(form, answer.querySelector('.lead')?.textContent ?? t('failed'));
}

/** Whether another member than the one who wrote has logged in beside it: nothing is sent in their name. */
function isAnother({ body }: Document): boolean {
  const [now, before] = [body.dataset['viewer'], document.body.dataset['viewer']];
  return now !== undefined && before !== undefined && now !== before;
}

/** In a dialog over the page; false where there is none, or it was closed. */
async function logIn(): Promise<boolean> {
  try {
    await loadElement('x-login');
    return await (document.createElement('x-login') as LoginDialog).ask();
  } catch {
    return false;
  }
}

/** In another tab, so that what was typed stays here. */
function askToLogIn(form: HTMLFormElement): void {
  say(form, t('session'));
  const link = Object.assign(document.createElement('a'), {
    href: '/login',
    target: '_blank',
    textContent: t('login'),
  });
  form.querySelector('.form-state')!.append(' ', link);
}

/** Puts the answer's page in place of this one where it has the form, or a message; false where it has neither. */
function showRefused(form: HTMLFormElement, answer: Document): boolean {
  const refused = form.id
    ? answer.getElementById(form.id)
    : answer.querySelector(`form[action="${CSS.escape(new URL(form.action).pathname)}"]`);
  const shown = answer.querySelector('main');
  const main = document.querySelector('main');
  if (!shown || !main || !(refused ?? shown.querySelector('[role="alert"]'))) return false;
  main.replaceWith(document.adoptNode(shown));
  document.querySelector<HTMLElement>('[role="alert"], [aria-invalid="true"]')?.focus();
  return true;
}

/** Dispatches `forum:sent` on a form that was accepted, before its answer is shown; drafts of it are dropped then. */
async function arrive(form: HTMLFormElement, response: Response): Promise<void> {
  form.dispatchEvent(new CustomEvent('forum:sent', { bubbles: true }));
  // Whoever stays is told here what the next page would say.
  if (form.dataset['enhance'] === STAY) return toast(await response.text());
  const to = new URL(response.headers.get('X-Location') ?? response.url, location.href);
  if (to.pathname + to.search === location.pathname + location.search) {
    history.replaceState(null, '', to);
    location.reload();
  } else {
    location.assign(to);
  }
  // Until the next page is there, a second press would send it once more. Going back may bring this one as it was left.
  await new Promise((back) => addEventListener('pageshow', back));
}

function wait(form: HTMLFormElement, seconds: number): void {
  const buttons = [...form.querySelectorAll<HTMLButtonElement>('button:not([type="button"])')];
  for (const one of buttons) one.disabled = true;
  let left = Math.min(seconds, 3_600);
  announce(t('wait', { seconds: left }));
  const timer = setInterval(tick, 1_000);
  tick();
  function tick(): void {
    say(form, left > 0 ? t('wait', { seconds: left }) : '', false);
    if (left-- > 0) return;
    clearInterval(timer);
    for (const one of buttons) one.disabled = false;
  }
}

function busy(form: HTMLFormElement, on: boolean): void {
  form.ariaBusy = on ? 'true' : null;
  for (const one of form.querySelectorAll('button:not([type="button"])')) one.ariaBusy = on ? 'true' : null;
}

/** One line above the form's buttons, made when it is first needed. */
function say(form: HTMLFormElement, text: string, loud = true): void {
  let line = form.querySelector<HTMLElement>('.form-state');
  if (!line) {
    if (text === '') return;
    line = document.createElement('p');
    line.className = 'form-state problem';
    form.append(line);
  }
  line.textContent = text;
  if (loud && text) announce(text);
}
