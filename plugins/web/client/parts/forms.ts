import { request, t, toast } from '@forum/client';
import { said, say, type Mended } from './form-state.ts';

/** Value of `data-enhance`: the page stays when the form is accepted. */
const STAY = 'stay';
type Submitter = HTMLButtonElement | HTMLInputElement | null;
/** A module of its own, so that it is only loaded when a form is refused. */
const REFUSED = './refused.js';

/**
 * Milliseconds after which a form can be sent again if no page follows: loading was stopped, or the response is a file.
 */
const TIMEOUT = 5_000;

/**
 * Submits forms with `data-enhance` without leaving the page, so that no input is lost on an error. Buttons that skip
 * validation submit unfinished forms, so they navigate: the response is the page with the form. No form is submitted
 * again before its response has arrived.
 */
export function enhanceForms(): void {
  document.addEventListener('submit', (event) => {
    const form = event.target as HTMLFormElement;
    const submitter = event.submitter as Submitter;
    const stays = 'enhance' in form.dataset && !submitter?.formNoValidate;
    if (event.defaultPrevented || (!stays && (form.method !== 'post' || submitter?.formTarget || form.target))) return;
    const sent = form.ariaBusy === 'true';
    if (stays || sent) event.preventDefault();
    if (sent) return;
    if (stays) return void send(form, submitter);
    busy(form, true);
    setTimeout(busy, TIMEOUT, form, false);
  });
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) for (const form of document.forms) busy(form, false);
  });
  addEventListener('online', () => {
    for (const form of document.forms) if (said(form) === t('offline')) say(form, '');
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
  const { mend } = (await import(new URL(REFUSED, import.meta.url).href)) as {
    mend(form: HTMLFormElement, response: Response, before?: Mended): Promise<Mended | undefined>;
  };
  const now = await mend(form, response, mended);
  if (now) await send(form, submitter, now);
}

/** Dispatches `forum:sent` on an accepted form before its response is shown; drafts of it are dropped then. */
async function arrive(form: HTMLFormElement, response: Response): Promise<void> {
  form.dispatchEvent(new CustomEvent('forum:sent', { bubbles: true }));
  // Shows the message here that the next page would show otherwise.
  if (form.dataset['enhance'] === STAY) return toast(await response.text());
  const to = new URL(response.headers.get('X-Location') ?? response.url, location.href);
  if (to.pathname + to.search === location.pathname + location.search) {
    history.replaceState(null, '', to);
    location.reload();
  } else {
    location.assign(to);
  }
  // Stays busy until the next page loads, so that a second press does not submit again. Going back may restore this
  // page as it was left.
  await new Promise((back) => addEventListener('pageshow', back));
}

function busy(form: HTMLFormElement, on: boolean): void {
  form.ariaBusy = on ? 'true' : null;
  for (const one of form.querySelectorAll('button:not([type="button"])')) one.ariaBusy = on ? 'true' : null;
}
