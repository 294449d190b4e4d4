import type { PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Author } from 'parley-forum/plugins/accounts';
import type { ComposerSlot } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import type { Drafts } from 'parley-forum/ports/drafts';
import { errorsByField, textOf, type FormDraft, type Web } from 'parley-forum/plugins/web';
import type { MessageSettings } from '../conversation-service.ts';
import type { RecipientRules } from '../recipient-rules.ts';
import type { RouteDeps } from '../routes.ts';

export interface PageDeps extends RouteDeps {
  readonly plugin: PluginHandle<MessageSettings>;
  readonly access: Access;
  readonly markdown: Markdown;
  readonly drafts: Pick<Drafts, 'values'> | undefined;
  readonly rules: RecipientRules;
  readonly web: Web;
  /** Number of the viewer's unread conversations, cached. */
  unread(viewer: Viewer): Promise<number>;
}
export const LIST = '/messages';
export const NEW = `${LIST}/new`;
export const editPath = (messageId: string): string => `${LIST}/edit/${messageId}`;
export const removePath = (messageId: string): string => `${LIST}/remove/${messageId}`;

/** The arguments of the writing field. */
export function writingField(
  { values, preview, problems = [] }: FormDraft,
  given: { readonly key: string; readonly cancel?: string; readonly rows: number },
): object {
  const slot: ComposerSlot = { writes: 'message', values, key: given.key };
  return {
    ...slot,
    ...given,
    name: 'content',
    value: textOf(values['content']),
    problem: errorsByField(problems)['content'],
    preview,
  };
}

/** The initial values of a form, including the member's draft if the URL asks for it. */
export const initialDraft = async (
  drafts: PageDeps['drafts'],
  values: FormDraft['values'],
  {
    key,
    viewer,
    query,
  }: { readonly key: string; readonly viewer: Viewer; readonly query: { readonly draft?: string | undefined } },
): Promise<FormDraft> => ({
  values: query.draft === undefined ? values : { ...values, ...(await drafts?.values(key, viewer)) },
});

/** The participants other than the viewer. */
export const othersOf = (participants: readonly Author[], viewer: Viewer): readonly Author[] =>
  participants.filter(({ id }) => id !== viewer.id);
