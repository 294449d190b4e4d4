import { announce, logIn, refreshCsrf, t, toDocument } from '@forum/client';
import { say, type Mended } from './parts/form-state.ts';

/** Handles a form that was not accepted. Resolves to what was fixed if the form should be sent again. */
export async function mend(form: HTMLFormElement, response: Response, before?: Mended): Promise<Mended | undefined> {
  if (response.status === 429) return wait(form, Number(response.headers.get('Retry-After') ?? 10));
  const answer = toDocument(await response.text());
  if (isAnother(answer)) return askToLogIn(form);
  // A CSRF token from before a login or logout in another tab: take over the new one and try once more.
  if (response.status === 403 && !before && refreshCsrf(answer)) return 'token';
  refreshCsrf(answer);
  if (response.status === 401) return before !== 'session' && (await logIn()) ? 'session' : askToLogIn(form);
  if (response.status < 500 && showRefused(form, answer)) return undefined;
  say(form, answer.querySelector('.lead')?.textContent ?? t('failed'));
  return undefined;
}

/** Whether another member has logged in since the text was written: nothing may be sent in their name. */
function isAnother({ body }: Document): boolean {
  const [now, before] = [body.dataset['viewer'], document.body.dataset['viewer']];
  return now !== undefined && before !== undefined && now !== before;
}

/** Offers a link to log in in another tab, so that the input here is kept. */
function askToLogIn(form: HTMLFormElement): undefined {
  say(form, t('session'));
  const link = Object.assign(document.createElement('a'), {
    href: '/login',
    target: '_blank',
    textContent: t('login'),
  });
  form.querySelector('.form-state')!.append(' ', link);
}

/**
 * Replaces the page's content with the response's if that has the form or an error message. Returns false if it has
 * neither.
 */
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

function wait(form: HTMLFormElement, seconds: number): undefined {
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
