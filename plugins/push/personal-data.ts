import type { PersonalData } from 'parley-forum/ports/personal-data';
import type { DeviceStore } from './device-store.ts';

/** A member's devices, without their endpoints and keys, which are secrets. */
export const devicesData = (devices: DeviceStore): PersonalData => ({
  name: 'push devices',
  async *entries(accountId) {
    const list = (await devices.of(accountId)).map(({ device, createdAt, lastSuccessAt }) => ({
      device,
      created_at: createdAt.toISOString(),
      last_success_at: lastSuccessAt?.toISOString() ?? null,
    }));
    yield { path: 'push-devices.json', content: JSON.stringify(list, undefined, 2) };
  },
  erase: (accountId) => devices.revokeAll(accountId),
});
