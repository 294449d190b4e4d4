import { type Mode } from 'parley-forum/ports/personal-data';
import { defineAction } from 'parley-forum';
import { defineSlot } from 'parley-forum/plugins/web';

/** The account concerned. */
interface About {
  readonly id: string;
}
/** A member asked for a copy of their data. */
export const exportRequested = defineAction<About>('privacy.export-requested');
/** An account is to be deleted, not before `due`. `by` is an account or `commandLine`. */
export const deletionRequested = defineAction<
  About & { readonly mode: Mode; readonly due: string; readonly by?: string | undefined }
>('privacy.deletion-requested');
/** The deletion was cancelled: the member came back in time, or the account became that of the last administrator. */
export const deletionCancelled = defineAction<About & { readonly by?: string | undefined }>(
  'privacy.deletion-cancelled',
);
/** Nothing is left of the account but an id, and the member's posts if those are kept. */
export const accountErased = defineAction<About & { readonly mode: Mode }>('privacy.account-erased');

export const privacySettingsEnd = defineSlot<object>(
  'settings.privacy.end',
  'At the end of a member’s privacy settings: panels.',
);
