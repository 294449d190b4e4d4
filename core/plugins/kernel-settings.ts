import type { SupervisionLimits } from './supervisor.ts';
import { Type } from '../schema.ts';
import type { SettingsStore } from '../settings.ts';

/** The kernel's own settings. */
export const kernelSettings = Type.Object({
  'hooks.deadline': Type.Integer({
    default: 5_000,
    minimum: 100,
    title: 'Deadline of a listener',
    description: 'Milliseconds after which a plugin’s listener times out.',
    'x-group': 'plugins',
  }),
  'hooks.failures': Type.Integer({
    default: 5,
    minimum: 1,
    title: 'Failures before quarantine',
    description: 'Failures or slow runs in a row after which a listener is skipped.',
    'x-group': 'plugins',
  }),
  'hooks.setup': Type.Integer({
    default: 30_000,
    minimum: 1_000,
    title: 'Deadline of a start',
    description: 'Milliseconds after which starting a plugin times out.',
    'x-group': 'plugins',
  }),
  'hooks.slow': Type.Integer({
    default: 1_000,
    minimum: 10,
    title: 'Slow listener',
    description: 'Milliseconds above which a run counts as slow.',
    'x-group': 'plugins',
  }),
  'kernel.installed_at': Type.String({
    default: '',
    title: 'Installed at',
    description: 'When this site was installed; empty before.',
    'x-group': 'hidden',
  }),
});

/** The supervision limits from the settings, always current. */
export function supervisionLimits(settings: SettingsStore): SupervisionLimits {
  const live = settings.live(kernelSettings);
  const read = (): SupervisionLimits => ({
    deadline: live['hooks.deadline'],
    failures: live['hooks.failures'],
    slow: live['hooks.slow'],
    setup: live['hooks.setup'],
  });
  // Copied, because the limits are read on every listener call.
  const limits = read();
  settings.watch('kernel', () => void Object.assign(limits, read()));
  return limits;
}
