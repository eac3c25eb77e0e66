// Runs the realtime service's own SDK for servers against a server of its protocol, and prints what it saw as JSON.
//
//   realtime_sdk.cjs HOST PORT ID KEY SECRET
'use strict';
const Pusher = require('pusher');

const [host, port, appId, key, secret] = process.argv.slice(2);
const client = (changes = {}) => new Pusher({ appId, key, secret, host, port, useTLS: false, ...changes });

const status = async call => {
  try {
    return (await call()).status;
  } catch (error) {
    return error.status ?? error.message;
  }
};

(async () => {
  const own = client();
  const users = await own.get({ path: '/channels/presence-nobody/users' });
  const member = { user_id: '3', user_info: { name: 'Ann' } };
  console.log(JSON.stringify({
    'one channel': await status(() => own.trigger('private-user-3', 'message', { text: 'Ciao 👋' })),
    'several channels': await status(() => own.trigger(['a', 'presence-b'], 'message', {})),
    'no data': await status(() => own.trigger('a', 'message', '')),
    'wrong secret': await status(() => client({ secret: 'wrong' }).trigger('a', 'message', {})),
    'much data': await status(() => own.trigger('a', 'message', { text: 'x'.repeat(11000) })),
    users: await users.json(),
    'users of another channel': await status(() => own.get({ path: '/channels/private-a/users' })),
    private: own.authorizeChannel('12.34', 'private-user-3').auth,
    presence: own.authorizeChannel('12.34', 'presence-users', member),
  }));
})();
