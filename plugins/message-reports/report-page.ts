import { notFound, Type } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { messageActions } from 'parley-forum/plugins/messages';
import { REASONS, report } from 'parley-forum/plugins/reports';
import {
  fill,
  formErrors,
  pages,
  phrase,
  redirect,
  SafeHtml,
  slotFillings,
  view,
  type Retry,
  type View,
  type Web,
} from 'parley-forum/plugins/web';
import type { ReportableMessage } from './report-writer.ts';
import { Note, type RoutesDeps } from './routes.ts';

export interface ReportPageDeps extends Pick<RoutesDeps, 'plugin' | 'writer'> {
  readonly access: Access;
  readonly web: Web;
}
const CONVERSATIONS = '/messages';
const PATH = '/messages/report/:id';

const pathOf = (messageId: string): string => PATH.replace(':id', messageId);
/** The URL of the message in its conversation, with the messages around it. */
const placeOf = ({ conversation_id: id, number }: ReportableMessage): string =>
  `${CONVERSATIONS}/${id}?around=${number}#message-${number}`;

/** /messages/report/{id}, and the link to it below each message of another member. */
export function reportPage({ plugin, access, writer, web }: ReportPageDeps): void {
  /** Members cannot report their own messages. */
  const find = async ({
    actor,
    params,
  }: {
    readonly actor: Viewer;
    readonly params: Readonly<Record<string, string>>;
  }): Promise<ReportableMessage | undefined> => {
    const found = await writer.find(params['id'] ?? '', actor);
    return found?.author.id === actor.id ? undefined : found;
  };

  const formView = (found: ReportableMessage, retry?: Retry): View => {
    const model = {
      author: found.author,
      html: new SafeHtml(found.html),
      sent: found.created_at,
      days: plugin.settings['message-reports.days'],
      list: CONVERSATIONS,
      form: pathOf(found.id),
      back: placeOf(found),
      values: retry?.body ?? {},
      ...formErrors(retry),
    };
    return view(
      '@message-reports/report',
      { name: 'report', title: phrase('message-reports:report.title'), noindex: true, current: CONVERSATIONS },
      model,
    );
  };
  const rerender = async (retry: Retry): Promise<View> => {
    const found = await find(retry);
    if (!found) throw notFound();
    return formView(found, retry);
  };

  plugin.route(pages, { method: 'get', path: PATH, can: report, load: find })(({ target }) => formView(target));

  plugin.route(pages, {
    method: 'post',
    path: PATH,
    can: report,
    options: { rerender },
    load: find,
    body: Type.Object({ reason: Type.Enum([...REASONS]), note: Type.Optional(Note) }),
  })(async ({ actor, target, body: { reason, note } }) => {
    await writer.report(actor, { messageId: target.id, reason, note });
    return redirect(placeOf(target), { notice: phrase('reports:thanks') });
  });

  plugin.extend(
    slotFillings,
    fill(messageActions, (messages, viewer) => {
      if (!access.allows(viewer, report)) return [];
      return Promise.all(
        messages.map(async ({ id, number, author, is_deleted: erased }) =>
          author && author.id !== viewer.id && !erased
            ? web.fragment(viewer, '@message-reports/button', { href: pathOf(id), number })
            : undefined,
        ),
      );
    }),
  );
}
