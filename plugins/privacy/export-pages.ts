import type { Clock, PluginHandle } from 'parley-forum';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import { exportRequested } from 'parley-forum/plugins/privacy';
import { personalData, type PersonalFile } from 'parley-forum/ports/personal-data';
import type { Protection } from 'parley-forum/plugins/protection';
import { pages, redirect, type Retry, type View } from 'parley-forum/plugins/web';
import { PRIVACY } from './forms.ts';
import type { PrivacySettings } from './settings.ts';

const EXPORTS: Bucket = { name: 'privacy.exports', window: 86_400 };

export interface ExportPagesDeps {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly protection: Protection;
  rerender(retry: Retry): Promise<View>;
}

/** A copy of all of a member's data, as a download that is streamed while it is created. */
export function addExportPages(
  plugin: PluginHandle<PrivacySettings>,
  { clock, limits, protection, rerender }: ExportPagesDeps,
): void {
  const filesOf = async function* (accountId: string): AsyncGenerator<PersonalFile, void> {
    for (const { value } of plugin.extensions(personalData)) if (value.entries) yield* value.entries(accountId);
  };
  const countExport = async (accountId: string): Promise<void> => {
    const allowance = await limits.consume(EXPORTS, accountId, plugin.settings['privacy.export_rate_limit']);
    assertAllowed(allowance, () => 'You have requested your data several times today; try again tomorrow');
  };
  plugin.route(pages, {
    method: 'post',
    path: `${PRIVACY}/export`,
    can: 'member',
    summary: 'Downloads all of the member’s data as a ZIP file.',
    options: { confirm: true, rerender },
  })(async ({ actor, res }) => {
    const id = actor.id;
    await countExport(id);
    await plugin.emit(exportRequested, { id });
    const day = new Date(clock.now()).toISOString().slice(0, 10);
    protection.startDownload(res, { name: `my-data-${day}.zip`, type: 'application/zip' });
    const { sendArchive } = await import('./archive.ts');
    await sendArchive(filesOf(id), res, plugin.signal);
    // Ignored, since the response has already been sent.
    return redirect(PRIVACY);
  });
}
