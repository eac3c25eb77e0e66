// Runs the push service's own SDK for servers against a stand-in, and prints what it saw as JSON.
//
//   push_sdk.cjs HOST PORT INSTANCE KEY
'use strict';
const Beams = require('@pusher/push-notifications-server');

const [endpoint, port, instanceId, secretKey] = process.argv.slice(2);
const client = (changes = {}) => new Beams({ instanceId, secretKey, endpoint, port: Number(port), ...changes });
const notification = { title: 'Ann', body: 'Ciao 👋', deep_link: 'https://support.example/', hide_notification_if_site_has_focus: true };

const refusal = async call => {
  try {
    return await call();
  } catch (error) {
    return error.message;
  }
};

(async () => {
  const own = client();
  console.log(JSON.stringify({
    published: await own.publishToInterests(['3', 'agents'], { web: { notification, data: { conversation_id: '1' } } }),
    'wrong key': await refusal(() => client({ secretKey: 'wrong' }).publishToInterests(['3'], { web: { notification } })),
    'other instance': await refusal(() => client({ instanceId: 'other' }).publishToInterests(['3'], { web: { notification } })),
    'nothing to show': await refusal(() => own.publishToInterests(['3'], {})),
    'too long': await refusal(() => own.publishToInterests(['3'], { web: { notification: { ...notification, body: 'x'.repeat(11000) } } })),
  }));
})();
